"""What a version promises to those who read and write its files (docs/compatibility.md), and what another one breaks of it.

`python lab/release/formats.py FOLDER [BEFORE]`, by the Python in which a version is installed, writes what tests/test_released.py
holds all later versions to: `promised.json.gz`; the log of a short run, `run.jsonl.gz`, and its export; one of each kind of event
with all of its fields, `kinds.jsonl.gz`. It prints what is broken of the `promised.json.gz` of BEFORE, the folder of another
version. It imports that version and what it requires, nothing else.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import inspect as shape

Promise = dict[str, Any]
WRITTEN, READ, BOTH = "written", "read", "both"
DOCUMENTS = {"export": WRITTEN, "compare": WRITTEN, "ab": WRITTEN, "log": BOTH, "profile": READ}
"""Schemas of `capexplorer schema`: what is written for programs, and what capexplorer reads itself."""

TAGS = ("type", "kind", "do")
"""Keys that say which of several objects it is; then they are the first."""

WITHDRAWN: Mapping[str, str] = {}
"""Lines of `broken` that were announced: the version whose section of CHANGELOG.md has the announcement."""

PLANS = (
    "50:30s, hold 60 500ms, steps 20..120 by 20 10m, ramp to 200 5m, spike 200 30s, loop 3 (10:5s, 20:5s), profile 10s",
    "find knee, verify, 60% knee:30s, hold 60% of the knee 24h, spike 90% knee 1m",
    "rate 200/s 30s, rates 50..400 by 50 20s, ramp to 400/s 5m, spike 800/s 30s, rate 60% capacity 1h",
)
"""Each form of the language of plans."""

PROMISED = "promised.json.gz"

RUN = ("run", "sleepers", "--headless", "--plan", "1:6s, 2:6s")
"""12 s of load on loopback, by a sample that needs no extra."""


# -- what is promised


def promised() -> Promise:
    """That of the version which is imported, as JSON has it."""
    from capexplorer import cli
    from capexplorer.commands import doctor, schema
    from capexplorer.errors import ExitCode
    from capexplorer.metrics.table import METRICS
    from capexplorer.model import events
    from capexplorer.report import summary
    from capexplorer.report.ab import formats as ab
    from capexplorer.report.compare import json as comparison

    return {
        "formats": {
            "log": events.SCHEMA,
            "export": summary.SCHEMA,
            "compare": comparison.SCHEMA,
            "ab": ab.SCHEMA,
            "doctor": doctor.SCHEMA,
        },
        "keys": {name: keys_of(schema.document(name)) for name in DOCUMENTS},
        "options": {" ".join(words): options for words, options in options_of(cli.group)},
        "exit_codes": {code.name: code.value for code in ExitCode},
        "metrics": {name: list(each.labels) for each in METRICS for name in each.series},
    }


def keys_of(schema: Mapping[str, Any]) -> dict[str, list[str]]:
    """By the path of each key, such as `levels[].users`: its types, `=` and each of its values if these are listed, and
    `required` if it is always there."""
    found: dict[str, set[str]] = {}
    definitions = schema.get("$defs", {})

    def visit(part: Mapping[str, Any], path: str, above: frozenset[str]) -> None:
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            if name not in above:
                visit(definitions[name], path, above | {name})
            return
        for each in part.get("anyOf", ()):
            visit(each, path, above)
        found.setdefault(path, set()).update(_types(part))
        properties = part.get("properties", {})
        path += _tag(properties)
        for name, each in properties.items():
            visit(each, f"{path}.{name}", above)
            if name in part.get("required", ()):
                found[f"{path}.{name}"].add("required")
        if isinstance(each := part.get("items"), Mapping):
            visit(each, f"{path}[]", above)
        for index, each in enumerate(part.get("prefixItems", ())):
            visit(each, f"{path}[{index}]", above)
        if isinstance(each := part.get("additionalProperties"), Mapping):
            visit(each, f"{path}.*", above)

    visit(schema, "", frozenset())
    return {path: sorted(types) for path, types in sorted(found.items())}


def _types(part: Mapping[str, Any]) -> set[str]:
    named = part.get("type", [])
    types = {named} if isinstance(named, str) else set(named)
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    types |= {kinds[type(value)] for value in part.get("enum", ())} | {f"={value}" for value in part.get("enum", ())}
    return types | {"integer"} if "number" in types else types


def _tag(properties: Mapping[str, Any]) -> str:
    """The name of an object among those that may stand in one place."""
    for name, each in list(properties.items())[:1]:
        if name in TAGS and len(each.get("enum", ())) == 1:
            return f"<{each['enum'][0]}>"
    return ""


def options_of(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """(words of the command, its options) of it and of the commands in it."""
    yield words, sorted(option for each in command.params if isinstance(each, click.Option) for option in each.opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (each := command.get_command(context, name)) is not None:
                yield from options_of(each, (*words, name))


# -- what a later version breaks


def broken(before: Promise, now: Promise) -> list[str]:
    """A line for each promise that is not kept, but of a format whose number was raised."""
    found = [
        f"{kind} {name}: gone or changed"
        for kind in ("exit_codes", "metrics")
        for name, value in before[kind].items()
        if now[kind].get(name) != value
    ]
    for command, options in before["options"].items():
        found += [f"command {command}: gone"] if command not in now["options"] else []
        found += [f"option {command} {each}: gone" for each in options if each not in now["options"].get(command, ())]
    for name, keys in before["keys"].items():
        if before["formats"].get(name) == now["formats"].get(name):
            found += [f"{name} {line}" for line in _broken_keys(keys, now["keys"].get(name, {}), DOCUMENTS[name])]
    return [line for line in found if line not in WITHDRAWN]


def _broken_keys(before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]], who: str) -> Iterator[str]:
    for path, words in before.items():
        if path not in now:
            yield f"{path}: gone"
            continue
        old, new = (set(each) - {"required"} for each in (words, now[path]))
        others = {each for each in new - old if not each.startswith("=")} if who == WRITTEN else old - new
        if others:
            yield f"{path}: {'may be' if who == WRITTEN else 'is no longer'} {' or '.join(sorted(others))}"
        if who == WRITTEN and "required" in words and "required" not in now[path]:
            yield f"{path}: was always there, is not any more"
    if who != WRITTEN:
        objects = {path.rpartition(".")[0] for path in before}
        for path, words in now.items():
            if "required" in words and "required" not in before.get(path, ()) and path.rpartition(".")[0] in objects:
                yield f"{path}: is required now"


# -- what later versions are tested with


def record(folder: Path) -> None:
    """Write the files of the version that is imported, which also makes a run."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = json.dumps(promised(), sort_keys=True).encode()
    (folder / PROMISED).write_bytes(gzip.compress(packed, mtime=0))
    (folder / "plans.txt").write_text("".join(f"{plan}\n" for plan in PLANS), encoding="utf-8")
    record_logs(folder)


def recorded(folder: Path) -> Promise:
    """What the version of that folder has promised."""
    found: Promise = json.loads(gzip.decompress((folder / PROMISED).read_bytes()))
    return found


def record_logs(folder: Path) -> None:
    """Those, and the export of the run. Names of the machine are left out."""
    from capexplorer.model.events import SCHEMA, Header
    from capexplorer.session.reader import read

    with tempfile.TemporaryDirectory() as name:
        program = [sys.executable, "-P", "-m", "capexplorer"]
        done = subprocess.run([*program, *RUN, "--sessions-dir", name], check=True, stdout=subprocess.PIPE, text=True)
        events = list(read(Path(done.stdout.strip())))
        header = events[0]
        assert isinstance(header, Header)
        nameless = {"host": msgspec.structs.replace(header.host, name="host"), "label": None}
        events[0] = msgspec.structs.replace(header, target=msgspec.structs.replace(header.target, command=()), **nameless)
        log = _written(Path(name) / "run.jsonl", events)
        exported = subprocess.run([*program, "export", str(log), "--format", "json"], check=True, stdout=subprocess.PIPE)
        kinds = [
            msgspec.structs.replace(each, **({"schema": SCHEMA} if isinstance(each, Header) else {})) for each in one_of_each()
        ]
        logs = [log, _written(Path(name) / "kinds.jsonl", kinds)]
        for each in logs:
            (folder / f"{each.name}.gz").write_bytes(gzip.compress(each.read_bytes(), mtime=0))
    (folder / "run.json").write_bytes(exported.stdout)


def _written(path: Path, events: Sequence[Any]) -> Path:
    from capexplorer.session.writer import SessionWriter

    writer = SessionWriter(path)
    for event in events:
        writer.write_canonical(event)
    writer.close()
    return path


def one_of_each() -> list[Any]:
    """An event of each kind, and of each kind of finding or answer in one, with a value in each field."""
    from capexplorer.model.events import KnownEvent

    kinds = shape.type_info(KnownEvent)
    assert isinstance(kinds, shape.UnionType)
    first, *others = kinds.types
    *others, last = sorted(others, key=lambda kind: getattr(kind, "tag", "") == "ended")
    return [msgspec.convert(value, KnownEvent) for kind in (first, *others, last) for value in _values(kind)]


def _values(kind: shape.Type) -> Iterator[Any]:
    """Plain values of a type: one, or one for each type of a field that may be one of several objects."""
    if isinstance(kind, shape.StructType):
        fields = {field.encode_name: list(_values(field.type)) for field in kind.fields}
        for index in range(max(map(len, fields.values()), default=1)):
            value = {name: each[min(index, len(each) - 1)] for name, each in fields.items()}
            yield list(value.values()) if kind.array_like else value | ({kind.tag_field: kind.tag} if kind.tag_field else {})
    elif isinstance(kind, shape.UnionType):
        objects = [each for each in kind.types if isinstance(each, shape.StructType)]
        for each in objects or [each for each in kind.types if not isinstance(each, shape.NoneType)][:1]:
            yield from _values(each)
    elif isinstance(kind, shape.TupleType):
        yield [next(_values(each)) for each in kind.item_types]
    elif isinstance(kind, (shape.VarTupleType, shape.ListType)):
        yield list(_values(kind.item_type))
    elif isinstance(kind, shape.DictType):
        yield {next(_values(kind.key_type)): next(_values(kind.value_type))}
    elif isinstance(kind, shape.LiteralType):
        yield kind.values[0]
    else:
        values = {shape.IntType: 1, shape.FloatType: 0.5, shape.BoolType: True}  # within the bounds of all fields
        yield values.get(type(kind), "a")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    for before in map(Path, sys.argv[2:]):
        print("\n".join(broken(recorded(before), promised())))
