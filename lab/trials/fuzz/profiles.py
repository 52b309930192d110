"""Profiles that are valid, with odd values, damaged, or hostile: no traceback, no hang, and each refusal is one line.

A loaded profile must have exactly the values that were written; an unknown key must be named.
"""

from __future__ import annotations

import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from capexplorer import profile
from capexplorer.errors import InputError

from .cases import Fuzzed, run_cases

LONGEST_S = 5.0
LONGEST_LINE = 700

Plain = dict[str, Any]

ODD: list[Any] = [
    *(-1, 0, 1, 99, 2**40, 10**12, 10**18, 2**63, 10**30, 10**4000, -0.5, 0.0, 1e-320, 1e300, math.nan, math.inf, True, False),
    *("", "x", "/", "9" * 50, "a\nb", "\x00", "\x1b[31m", "\u2028", "http://", "x" * 5_000, "../../etc/passwd", "\x7f"),
    *([], [[]], [1], [1, 2], [2, 1], [-1, 1], ["x"], [[[[1]]]], {}, {"x": 1}, {"a": {"b": {"c": [1, {"d": 2}]}}}),
]
NAMES = ["weight", "task", "wait_s", "users", "wieght", "zz", "a b", "", "ключ", "k" * 500, "a\nb", "\x1b", "x.y", '"']
BYTES = [*(bytes([each]) for each in b"[]{}=.\"'\n\r\x00\xff#"), b"\xef\xbb\xbf", b"9" * 5_000, b"[[", b"nan"]


def run(count: int, seed: int) -> Fuzzed:
    with tempfile.TemporaryDirectory(prefix="fuzz-profiles-") as folder:
        path = Path(folder) / "mine.toml"
        (path.parent / "users.py").touch()
        return run_cases(lambda rng: _case(path, rng), count, seed, LONGEST_S)


def _case(path: Path, rng: random.Random) -> str:
    return rng.choice((_right, _right, _spoiled, _spoiled, _misspelled, _damaged, _hostile))(path, rng)


def _right(path: Path, rng: random.Random) -> str:
    written = _profile(rng)
    path.write_text(_toml(written), encoding="utf-8")
    found = _loaded(path)
    assert found is not None, "refused"
    assert _holds(msgspec.to_builtins(found), written), "another value than was written"
    return "right"


def _spoiled(path: Path, rng: random.Random) -> str:
    """One value, at any depth, is replaced by an odd one."""
    written = _profile(rng)
    table, key = rng.choice(list(_places(written)))
    table[key] = rng.choice(ODD)
    path.write_text(_toml(written), encoding="utf-8")
    return "spoiled, refused" if _loaded(path) is None else "spoiled, still right"


def _misspelled(path: Path, rng: random.Random) -> str:
    written = _profile(rng)
    table = rng.choice(
        [written, written["users"], *written["users"].get("task", []), *(written.get(name) for name in ("guards", "slo"))]
    )
    if table is None or "zzz" in table:
        return "nothing to misspell"
    table["zzz"] = 1
    path.write_text(_toml(written), encoding="utf-8")
    line = _refusal(path)
    assert line is not None and "unknown key `" in line and "zzz`; " in line, line
    return "misspelled, refused by name"


def _damaged(path: Path, rng: random.Random) -> str:
    content = _toml(_profile(rng)).encode()
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randint(0, len(content)), rng.choice((0, 1, 1, 5, 40))
        content = content[:at] + rng.choice((rng.choice(BYTES), b"", content[at : at + length] * 2)) + content[at + length :]
    path.write_bytes(content)
    return "damaged, refused" if _loaded(path) is None else "damaged, still right"


def _hostile(path: Path, rng: random.Random) -> str:
    many, name = rng.choice((2, 31, 33, 100, 1_000, 5_000, 20_000, 100_000, 300_000)), rng.choice(NAMES)
    base = _toml(_profile(rng))
    text = rng.choice(HOSTILE)(min(many, 1_000_000 // (len(name) + 1)), json.dumps(name))
    path.write_text(rng.choice((text, f"{text}\n{base}", f"{base}\n{text}", f"{base}\n[users]\n{text}")), encoding="utf-8")
    return "hostile, refused" if _loaded(path) is None else "hostile, still right"


HOSTILE: list[Callable[[int, str], str]] = [
    lambda many, name: f"{name} = {'9' * many}",
    lambda many, name: f"{name} = -{'9_' * many}9",
    lambda many, name: f"{name} = 0x{'f' * many}",
    lambda many, name: f"{name} = 1e{'9' * many}",
    lambda many, name: f"{name} = {'[' * many}",
    lambda many, name: f"{name} = {'[' * many}{']' * many}",
    lambda many, name: f"{name} = {'{a=' * many}1{'}' * many}",
    lambda many, name: f"{'.'.join(['a'] * many)} = 1",
    lambda many, name: f"{' . '.join([name] * many)} = 1",
    lambda many, name: f"[{'.'.join([name] * many)}]",
    lambda many, name: "".join(f"a.k{index} = 1\n" for index in range(min(many, 30_000))),
    lambda many, name: "".join(f"[a.k{index}]\n" for index in range(min(many, 30_000))),
    lambda many, name: f"[[{name}]]\n" * min(many, 30_000),
    lambda many, name: f"{name} = [{'1,' * many}]",
    lambda many, name: f"{name} = '{'x' * many}'",
    lambda many, name: f"{name} = [{name}, " * many,
    lambda many, name: name + ' = "' + "\\" * many,
    lambda many, name: f"{'k' * many} = 1",
    lambda many, name: f"{'#' * many}\n" * 3,
    lambda many, name: f"{name}{' ' * many}={' ' * many}1",
    lambda many, name: "[users]\n" + '[[users.task]]\nname = "/"\n' * min(many, 10_000),
    lambda many, name: f"[plans]\n{name} = '{'loop 9 (' * min(many, 1_000)}'",
    lambda many, name: f"{name} = 1979-05-27T07:32:00.{'9' * many}Z",
]
"""Hostile lines of TOML, each made from a length and a key."""


def _loaded(path: Path) -> profile.Profile | None:
    """The profile; None if it is refused. AssertionError if it is accepted but cannot be run or written into a log."""
    try:
        found = profile.load(path)
    except InputError as error:
        line = str(error)
        assert line.startswith(f"{path}: ") and line.isprintable() and len(line) <= LONGEST_LINE, line[:1000]
        return None
    msgspec.json.encode(profile.plain(found, "mine"))
    assert 0 <= found.users.start <= found.guards.max_users <= 1_000_000
    assert sum(task.weight for task in found.users.task) <= 10_000_000
    return found


def _refusal(path: Path) -> str | None:
    try:
        profile.load(path)
    except InputError as error:
        return str(error)
    return None


def _holds(found: Any, written: Any) -> bool:
    """Whether `found` has all written values; it may have defaults as well."""
    if isinstance(written, dict):
        return all(key in found and _holds(found[key], value) for key, value in written.items())
    if isinstance(written, list):
        return len(found) == len(written) and all(map(_holds, found, written))
    return bool(found == written)


def _places(table: Plain) -> Iterator[tuple[Plain, str]]:
    """(table, key) of each key, in the table and in the tables in it."""
    for key, value in table.items():
        yield table, key
        if isinstance(value, dict):
            yield from _places(value)
        if key == "task" and isinstance(value, list):
            for each in value:
                yield from _places(each)


def _toml(written: Plain) -> str:
    """The profile as TOML. Tasks are `[[users.task]]` if all of them are tables, else one inline value."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in written.items() if not isinstance(value, dict)]
    for key, value in written.items():
        if isinstance(value, dict):
            tasks = value.get("task")
            as_tables = (
                key == "users" and isinstance(tasks, list) and bool(tasks) and all(isinstance(each, dict) for each in tasks)
            )
            lines += [
                f"[{_key(key)}]",
                *(f"{_key(k)} = {_value(v)}" for k, v in value.items() if not (as_tables and k == "task")),
            ]
            for each in tasks if as_tables and tasks else []:
                lines += ["[[users.task]]", *(f"{_key(k)} = {_value(v)}" for k, v in each.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if key.replace("_", "").isalnum() and key.isascii() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def _profile(rng: random.Random) -> Plain:
    """A valid profile with a random half of the optional keys."""
    service = rng.choice(({"target": "mixed"}, {"url": "http://127.0.0.1:9000"}, {"url": "https://[::1]/x?y=1"}))
    users = _some(rng, _users(rng))
    tasks = [_task(rng, index) for index in range(rng.choice((1, 1, 2, 5, 40)))]
    users |= {"locustfile": "users.py"} if rng.random() < 0.2 else {"task": tasks}
    tables = _some(rng, _tables(rng))
    if "url" in service:
        tables.pop("params", None)  # they are a target's
    return {**service, **tables, "users": users}


def _users(rng: random.Random) -> Plain:
    waits = (0, 1.5, {"between": [0.1, 0.5]}, {"constant": 0}, {"constant_throughput": 0.5}, {"poisson": 3})
    return {
        "wait_s": rng.choice(waits),
        "start": rng.randint(0, 200),
        "spawn_rate": rng.choice((0.001, 5, 100_000.0)),
        "client": rng.choice(("fast", "requests")),
        "keep_alive": rng.random() < 0.5,
        "timeout_s": rng.choice((0.1, 30, 86_400)),
    }


def _tables(rng: random.Random) -> Plain:
    return {
        "title": rng.choice(("", "A title", "ключ \U0001f642", "\x7f\x01")),
        "params": {"threads": 4, "store": "x", "fast": True, "ratio": 0.5},
        "guards": {"max_users": rng.choice((200, 2_000, 1_000_000)), "allow_hosts": ["db.example"]},
        "limits": {"target": {"open_files": 64}, "network": {"somaxconn": 5}},
        "plans": {"short": "5:1s", "long": "loop 3 (1:1s)"},
        "slo": {"p95_ms": 200, "failure_ratio": 0.01},
        "stop": {"p99_ms": 0, "load_average": 3.5, "metric": {"name": "queue", "over": 5}},
        "work": {"metric": "done"},
    }


def _task(rng: random.Random, index: int) -> Plain:
    optional = {
        "weight": rng.choice((1, 7, 10_000)), "method": rng.choice(("GET", "post", "Delete")), "path": f"/p/{index}?x=1",
        "headers": {"X-Key": "a b", "Accept": "*/*"}, "expect_status": rng.choice((200, [200, 404])),
        rng.choice(("body", "json")): rng.choice(("text", "\u2028\n")),
    }  # fmt: skip
    return {"name": f"/t{index}", **_some(rng, optional)}


def _some(rng: random.Random, table: Plain) -> Plain:
    return {key: value for key, value in table.items() if rng.random() < 0.5}
