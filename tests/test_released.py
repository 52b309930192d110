"""Each version reads, judges and exports what released versions wrote (tests/released, docs/compatibility.md).

`make release` adds a version's folder. 0.1.0 is that of CHANGELOG.md, which was not published: it has promised nothing.
"""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version
from pages.test_profiles_page import keys, profile_with

from capexplorer import configuration
from capexplorer.commands.schema import document
from capexplorer.commands.shared_options import with_found
from capexplorer.model.events import Header, Unknown
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import FORMATS
from capexplorer.session.reader import open_session
from capexplorer.steer import plan
from docs import profiles
from lab.release import formats

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted((ROOT / "tests" / "released").iterdir(), key=lambda folder: Version(folder.name))
LOGS = [log for folder in FOLDERS for log in sorted(folder.glob("*.jsonl.gz"))]
PROMISING = [folder for folder in FOLDERS if (folder / formats.PROMISED).exists()]

OF_STACKS = {"speedscope", "pprof"}
"""These formats need sampled stacks, which the run of 12 s has not."""

of_each_version = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))


def unpacked(log: Path, folder: Path) -> Path:
    path = folder / log.name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(log.read_bytes()))
    return path


def test_each_version_of_the_changelog_has_a_folder() -> None:
    versions = re.findall(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert {folder.name for folder in FOLDERS} == set(versions)
    assert {folder.name for folder in FOLDERS} - {folder.name for folder in PROMISING} <= {"0.1.0"}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name} {log.name}")
def test_each_line_of_a_log_is_read(log: Path, tmp_path: Path) -> None:
    with open_session(unpacked(log, tmp_path)) as session:
        events = list(session)
    assert (session.notes, session.damaged) == ([], 0)
    assert [event for event in events if isinstance(event, Unknown)] == []


@of_each_version
def test_a_session_is_judged_and_exported_in_each_format(folder: Path, tmp_path: Path) -> None:
    path = unpacked(folder / "run.jsonl.gz", tmp_path)
    with open_session(path) as session:
        events = list(session)
    for recorded in (events, list(with_found(path, events))):
        assert Timeline(recorded).levels
        for name in FORMATS.keys() - OF_STACKS:
            assert FORMATS[name].of_log(recorded, f"a{FORMATS[name].suffix}")


@of_each_version
def test_its_export_has_the_keys_that_it_had(folder: Path, tmp_path: Path) -> None:
    with open_session(unpacked(folder / "run.jsonl.gz", tmp_path)) as session:
        now = dict(types(json.loads(FORMATS["json"].to_text(session))))
    before = dict(types(json.loads((folder / "run.json").read_bytes())))
    assert {path: kind for path, kind in before.items() if now.get(path) != kind} == {}


def types(value: Any, path: str = "$") -> Iterator[tuple[str, str]]:
    """(path, type) of each value of a document."""
    yield path, type(value).__name__
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from types(each, f"{path}.{name}")


@of_each_version
def test_each_key_of_its_profiles_and_of_its_settings_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = tomllib.loads((folder / "profiles.toml").read_text("utf-8"))
    read = [(table, key) for table, key in keys() if key in profiles.example_of(examples, table)]
    assert len(read) > 60
    for table, key in read:
        profile_with(examples, table, key)
    monkeypatch.setenv(configuration.VARIABLE, str(folder / "configuration.toml"))
    assert configuration.load().keys


@of_each_version
def test_its_plans_are_read(folder: Path) -> None:
    for text in (folder / "plans.txt").read_text("utf-8").splitlines():
        assert plan.parse(text, "--plan", 1000)


def test_what_the_last_version_promised_is_kept() -> None:
    now = formats.promised()
    assert [line for folder in PROMISING[-1:] for line in formats.broken(formats.recorded(folder), now)] == []


# -- what is recorded of this version when it is released


def test_there_is_an_event_of_each_kind_with_a_value_in_each_field() -> None:
    events = formats.one_of_each()
    written = {path for path, words in formats.keys_of(document("log")).items() if "required" in words}
    kinds = {path.partition(">")[0].removeprefix("<") for path in written if path.startswith("<")}
    assert {event.__struct_config__.tag for event in events} == kinds
    assert isinstance(events[0], Header)
    assert [name for event in events for name in event.__struct_fields__ if getattr(event, name) in (None, ())] == []


@pytest.mark.parametrize("text", formats.PLANS)
def test_each_form_of_plans_that_is_recorded_is_read(text: str) -> None:
    assert plan.parse(text, "--plan", 1000)


# -- what another version breaks


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [name for name in properties if name != "b"]}


def promise(name: str, number: int = 1, /, **properties: Any) -> formats.Promise:
    return {
        "formats": {name: number},
        "keys": {name: formats.keys_of(schema(**properties))},
        "options": {"run": ["--plan", "--users"], "completion": []},
        "exit_codes": {"INPUT": 2},
        "metrics": {"capexplorer_users": ["endpoint"]},
    }


NUMBER, OPEN, WORDS = {"type": "number"}, {"anyOf": [{"type": "number"}, {"type": "null"}]}, {"enum": ["x", "y"]}
NOTE = {"enum": ["note"]}


@pytest.mark.parametrize(
    ("name", "before", "now", "said"),
    [
        ("export", {"a": NUMBER}, {}, [".a: gone"]),
        ("export", {"a": NUMBER}, {"a": OPEN}, [".a: may be null"]),
        ("export", {"a": OPEN}, {"a": NUMBER, "c": NUMBER}, []),
        ("export", {"a": WORDS}, {"a": {"enum": ["x", "y", "z"]}}, []),
        (
            "export",
            {"a": {"type": "array", "items": schema(d=NUMBER)}},
            {"a": {"type": "array", "items": schema()}},
            [".a[].d: gone"],
        ),
        ("log", {"a": NUMBER}, {"a": OPEN}, []),
        ("log", {"a": OPEN}, {"a": NUMBER}, [".a: is no longer null"]),
        ("log", {"a": WORDS}, {"a": {"enum": ["x"]}}, [".a: is no longer =y"]),
        ("log", {"a": NUMBER}, {"a": NUMBER, "c": NUMBER}, [".c: is required now"]),
        ("log", {"type": NOTE}, {"type": NOTE, "c": NUMBER}, ["<note>.c: is required now"]),
        ("log", {"type": NOTE}, {"type": NOTE, "b": schema(c=NUMBER)}, []),
        ("profile", {"a": NUMBER}, {"a": NUMBER, "b": NUMBER}, []),
        ("profile", {"a": NUMBER}, {"b": NUMBER}, [".a: gone"]),
    ],
)
def test_a_change_of_a_format_is_named_if_it_breaks_those_who_use_it(
    name: str, before: dict[str, Any], now: dict[str, Any], said: list[str]
) -> None:
    assert formats.broken(promise(name, **before), promise(name, **now)) == [f"{name} {line}" for line in said]


def test_a_format_with_another_number_may_change() -> None:
    assert formats.broken(promise("export", a=NUMBER), promise("export", 2)) == []


def test_commands_options_exit_codes_and_metrics_may_not_go_until_that_was_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    before = promise("export")
    now = {**before, "options": {"run": ["--plan"]}, "exit_codes": {"INPUT": 3}, "metrics": {}}
    said = ["exit_codes INPUT: gone or changed", "metrics capexplorer_users: gone or changed", "option run --users: gone"]
    said += ["command completion: gone"]
    assert formats.broken(before, now) == said
    monkeypatch.setattr(formats, "WITHDRAWN", {said[3]: "0.3.0"})
    assert formats.broken(before, now) == said[:3]
