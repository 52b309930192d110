"""Damaged session logs are given to everything that reads logs: no traceback, no hang, no figure that changed without a note.

A log must either give the same summary, or notes of its damage, or be refused in one line. Where damage cannot be detected (a
line with a forged seal) figures may differ; the rest must hold.
"""

from __future__ import annotations

import copy
import random
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from capexplorer import paths
from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.commands.compare import rendered
from capexplorer.commands.sessions import judged
from capexplorer.errors import CapexplorerError, InputError
from capexplorer.model.events import Event, Log, Sample
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.report.compare import Session, compare
from capexplorer.report.formats import csv, hgrm, html, json, locust_csv, markdown
from capexplorer.report.redaction import redacted
from capexplorer.report.summary import summarise
from capexplorer.session.beside import digest_of
from capexplorer.session.catalog import entry_of
from capexplorer.session.codec import encode, number_of, sealed
from capexplorer.session.reader import open_session, read

from .cases import Fuzzed, run_cases

# -- damage --------------------------------------------------------------------------------------------------------------------
# Logs to damage, and ways to damage them: their bytes, their lines, and the values in their lines.


SECONDS_PER_LEVEL = 4
LINES_OF_OUTPUT = 2

Lines = tuple[bytes, ...]
"""The lines of a log, without their line ends."""


@cache
def small_logs() -> tuple[Lines, ...]:
    """Each sample session with a few seconds of each level; all kinds of lines and all marks are kept."""
    return tuple(_sealed(encode(event) for event in _thinned(read(path))) for path in paths.sample_sessions().values())


def _sealed(lines: Iterable[bytes]) -> Lines:
    return tuple(sealed(line, number) for number, line in enumerate(lines, start=1))


def _thinned(events: Iterator[Event]) -> Iterator[Event]:
    """The first unsettled and the first settled seconds of each level, and all other events but most output."""
    seen: Counter[object] = Counter()
    for event in events:
        match event:
            case Sample():
                key: object = (event.level, event.settled)
                most = SECONDS_PER_LEVEL // 2
            case Log():
                key, most = "log", LINES_OF_OUTPUT
            case _:
                key, most = id(event), 1
        seen[key] += 1
        if seen[key] <= most:
            yield event


Damage = Callable[[Lines, random.Random], bytes]
"""Makes the content of a damaged file from the lines of a log."""

_DIGIT = re.compile(rb"[0-9]")
_NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, -(2**63), 2**64, 10**30, 10**300, 1e15, 1e300, -1e300, 1e-300, 1.7e308, 0.1)
_TEXTS = ("", "x", "9" * 400, "\x00", "\N{ROCKET}" * 50, "HISTFAAAABx4", "2026-13-45T99")
_CONTAINERS: tuple[Any, ...] = ([], {}, [None], {"": None}, [[[]]], {"a": {"b": [1, {"c": 2}]}})
_OTHERS: tuple[Any, ...] = (*_NUMBERS, *_TEXTS, *_CONTAINERS, None, True, False)


def joined(lines: Lines) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def flip_bits(lines: Lines, rng: random.Random) -> bytes:
    content = bytearray(joined(lines))
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def flip_digit(lines: Lines, rng: random.Random) -> bytes:
    content = bytearray(joined(lines))
    at = rng.choice([found.start() for found in _DIGIT.finditer(bytes(content))])
    content[at] = ord(rng.choice([digit for digit in "0123456789" if ord(digit) != content[at]]))
    return bytes(content)


def overwrite(lines: Lines, rng: random.Random) -> bytes:
    """Replaces a run of bytes by zeros, invalid UTF-8, random bytes, or another part of the file."""
    content = bytearray(joined(lines))
    at, length = rng.randrange(len(content)), rng.choice((1, 2, 30, 4096))
    other = rng.randrange(len(content))
    junk = rng.choice((bytes(length), b"\xff\xfe" * length, rng.randbytes(length), bytes(content[other : other + length])))
    content[at : at + (length if rng.random() < 0.7 else 0)] = junk
    return bytes(content)


def cut(lines: Lines, rng: random.Random) -> bytes:
    """The file ends early, within a line or after one, or a part of it is missing."""
    content = joined(lines)
    at = rng.randrange(len(content))
    if rng.random() < 0.3:
        return joined(lines[: rng.randrange(len(lines))])
    return content[:at] + (content[at + rng.choice((1, 50, 5000)) :] if rng.random() < 0.5 else b"")


def disorder(lines: Lines, rng: random.Random) -> bytes:
    """Lines are deleted, duplicated, swapped, joined, or blank ones inserted."""
    changed, at, other = list(lines), rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del changed[at : at + rng.choice((1, 1, 2, 20))]
        case 1:
            changed.insert(other, changed[at])
        case 2:
            changed[at], changed[other] = changed[other], changed[at]
        case 3:
            changed[at : at + 2] = [b"".join(changed[at : at + 2])]
        case _:
            changed.insert(at, rng.choice((b"", b"\r", b"   ", b"{}", b"null", b"[" * 2000)))
    return joined(tuple(changed))


def change_values(lines: Lines, rng: random.Random) -> bytes:
    """One or a few values of a line are replaced by values of other types or sizes; the line keeps its seal, which is then
    wrong."""
    at = rng.randrange(len(lines))
    return joined((*lines[:at], _changed(lines[at], rng), *lines[at + 1 :]))


def forge(lines: Lines, rng: random.Random) -> bytes:
    """Values are replaced, a few lines removed, and all lines numbered and sealed again: the damage cannot be detected, and
    nothing may fail."""
    kept = [line for line in lines if rng.random() > 0.02]
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(kept))
        kept[at] = _changed(kept[at], rng)
    return joined(tuple(_sealed_again(line, number) for number, line in enumerate(kept, start=1)))


def _sealed_again(line: bytes, number: int) -> bytes:
    fields = msgspec.json.decode(line)
    if not isinstance(fields, dict) or not fields.pop("line", None):
        return line
    fields.pop("crc", None)
    line = sealed(msgspec.json.encode(fields), number)
    assert number_of(line) == number
    return line


def _changed(line: bytes, rng: random.Random) -> bytes:
    whole = msgspec.json.decode(line)
    for _ in range(rng.choice((1, 1, 1, 3))):
        container, key = _random_place(whole, rng)
        container[key] = _other(container[key], rng)
    try:
        return msgspec.json.encode(whole)
    except RecursionError:  # a nested value was put into a nested value
        return line


def _random_place(value: Any, rng: random.Random) -> tuple[Any, Any]:
    """A random place of a value, at any depth: the object or list that contains it, and its key or index."""
    containers = [value]
    for container in containers:
        inner = container.values() if isinstance(container, dict) else container
        containers += [each for each in inner if isinstance(each, dict | list) and each]
    container = rng.choice(containers)
    return container, rng.choice(list(container) if isinstance(container, dict) else range(len(container)))


def _other(value: Any, rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.1:
        return _nested(rng.choice((3, 40, 500)))
    if kind < 0.3 and isinstance(value, int | float):
        return value * rng.choice((-1, 0, 10, 1e6, 1e12))
    if kind < 0.4 and isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice("A0=\x00é\udfff".replace("\udfff", "z")) + value[at + 1 :]
    return copy.deepcopy(rng.choice(_OTHERS))  # copied: a later change must not alter the constant


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


DETECTABLE: tuple[Damage, ...] = (flip_bits, flip_digit, flip_digit, overwrite, cut, disorder, change_values)
"""Damage that the reader of a sealed log detects."""
UNDETECTABLE: tuple[Damage, ...] = (forge, forge, forge)
"""Damage that the reader cannot detect."""


Step = Callable[[Path, random.Random], object]


def run(count: int, seed: int) -> Fuzzed:
    with tempfile.TemporaryDirectory(prefix="fuzz-logs-") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of a library would be printed among the output
        path = Path(folder) / "session.jsonl"
        return run_cases(lambda rng: _case(path, rng), count, seed)


def _case(path: Path, rng: random.Random) -> str:
    lines = rng.choice(small_logs())
    damage = rng.choice(DETECTABLE + UNDETECTABLE)
    is_detectable = damage in DETECTABLE
    path.write_bytes(damage(lines, rng))
    outcome = _read(path, lines, is_detectable=is_detectable)
    if outcome == "refused":
        return outcome
    for step in rng.sample(STEPS, 1 if is_detectable else 2):
        _carry_out(step, path, rng)
    return outcome


def _read(path: Path, lines: Lines, *, is_detectable: bool) -> str:
    """Open and summarise the log; returns the outcome. AssertionError if a figure changed by detectable damage without a note."""
    try:
        with open_session(path) as log:
            document = summarise(Timeline(log))
            notes = log.notes
    except CapexplorerError as error:
        assert "\n" not in str(error), f"more than one line: {error}"
        return "refused"
    summary = json.render(document)
    if summary == _undamaged(lines):
        return "same figures"
    if notes:
        return "noted"
    if not is_detectable:
        return "other figures, nothing can tell"
    assert not document["session"]["complete"], "a figure changed without a note"
    return "ended early"


@cache
def _undamaged(lines: Lines) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(joined(lines))
        file.flush()
        with open_session(Path(file.name)) as log:
            return json.render(summarise(Timeline(log)))


def _carry_out(step: Step, path: Path, rng: random.Random) -> None:
    """One use of the log. AssertionError if it is refused in more than one line."""
    try:
        step(path, rng)
    except InputError as error:
        assert "\n" not in str(error), f"more than one line: {error}"


def _events(path: Path) -> Iterable[Event]:
    with open_session(path) as log:
        yield from log


def _reanalyse(path: Path, rng: random.Random) -> None:
    found = reanalyse_events(_events(path))
    timeline = Timeline(reanalysed_events(_events(path), found, "fuzz"))
    rng.choice((markdown.render, html.render))(timeline)


def _compare(path: Path, rng: random.Random) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(joined(rng.choice(small_logs())))
        file.flush()
        sessions = [Session(Timeline(_events(each))) for each in (path, Path(file.name))]
    rng.shuffle(sessions)
    rendered(compare(sessions), rng.choice(("md", "html", "json")))


def _replay(path: Path, rng: random.Random) -> None:
    replay = Replay(path)
    try:
        replay.read_on()
        replay.prepare()
        for _ in range(2):
            timeline = replay.at(rng.random() * replay.duration_s)
            _ = [(level.figures, level.endpoints, level.bins) for level in timeline.levels], list(timeline.log)
    finally:
        replay.close()


def _list(path: Path, rng: random.Random) -> None:
    entry_of(path)
    digest_of(path, judged)


STEPS: tuple[Step, ...] = (
    lambda path, rng: markdown.with_picture(Timeline(_events(path)), "session.md"),
    lambda path, rng: html.render(Timeline(_events(path))),
    lambda path, rng: csv.render(Timeline(_events(path))),
    lambda path, rng: hgrm.render(Timeline(_events(path))),
    lambda path, rng: locust_csv.render(_events(path)),
    lambda path, rng: json.render(summarise(Timeline(redacted(_events(path))))),
    _reanalyse,
    _compare,
    _replay,
    _list,
)
