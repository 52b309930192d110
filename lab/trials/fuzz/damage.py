"""Logs to damage, and ways to damage them: their bytes, their lines, and the values in their lines."""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec

from capexplorer import paths
from capexplorer.model.events import Event, Log, Sample
from capexplorer.session.codec import encode, number_of, sealed
from capexplorer.session.reader import read

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
    """The file's content."""
    return b"".join(line + b"\n" for line in lines)


def flip_bits(lines: Lines, rng: random.Random) -> bytes:
    """Inverts one bit, or a few."""
    content = bytearray(joined(lines))
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def flip_digit(lines: Lines, rng: random.Random) -> bytes:
    """One digit becomes another."""
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
