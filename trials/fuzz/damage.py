"""Ways to damage a log: of its bytes, of its lines, and of the values in its lines."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable
from typing import Any

import msgspec

from capexplorer.session.seal import number_of, sealed

from .small_logs import Lines

Damage = Callable[[Lines, random.Random], bytes]
"""A log's lines to the bytes of a damaged file."""

_DIGIT = re.compile(rb"[0-9]")
_NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, -(2**63), 2**64, 10**30, 10**300, 1e15, 1e300, -1e300, 1e-300, 1.7e308, 0.1)
_TEXTS = ("", "x", "9" * 400, "\x00", "\N{ROCKET}" * 50, "HISTFAAAABx4", "2026-13-45T99")
_HOLDERS: tuple[Any, ...] = ([], {}, [None], {"": None}, [[[]]], {"a": {"b": [1, {"c": 2}]}})
_OTHERS: tuple[Any, ...] = (*_NUMBERS, *_TEXTS, *_HOLDERS, None, True, False)


def joined(lines: Lines) -> bytes:
    """The file's content."""
    return b"".join(line + b"\n" for line in lines)


def flip_bits(lines: Lines, chance: random.Random) -> bytes:
    """One bit, or a few."""
    content = bytearray(joined(lines))
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content)


def flip_digit(lines: Lines, chance: random.Random) -> bytes:
    """One digit becomes another."""
    content = bytearray(joined(lines))
    at = chance.choice([found.start() for found in _DIGIT.finditer(bytes(content))])
    content[at] = ord(chance.choice([digit for digit in "0123456789" if ord(digit) != content[at]]))
    return bytes(content)


def overwrite(lines: Lines, chance: random.Random) -> bytes:
    """Replaces a run of bytes by zeros, invalid UTF-8, random bytes, or another part of the file."""
    content = bytearray(joined(lines))
    at, length = chance.randrange(len(content)), chance.choice((1, 2, 30, 4096))
    other = chance.randrange(len(content))
    junk = chance.choice((bytes(length), b"\xff\xfe" * length, chance.randbytes(length), bytes(content[other : other + length])))
    content[at : at + (length if chance.random() < 0.7 else 0)] = junk
    return bytes(content)


def cut(lines: Lines, chance: random.Random) -> bytes:
    """The file ends early, in a line or behind one; or a piece of it is gone."""
    content = joined(lines)
    at = chance.randrange(len(content))
    if chance.random() < 0.3:
        return joined(lines[: chance.randrange(len(lines))])
    return content[:at] + (content[at + chance.choice((1, 50, 5000)) :] if chance.random() < 0.5 else b"")


def disorder(lines: Lines, chance: random.Random) -> bytes:
    """Lines are deleted, doubled, swapped, joined, or blank ones put in."""
    changed, at, other = list(lines), chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            del changed[at : at + chance.choice((1, 1, 2, 20))]
        case 1:
            changed.insert(other, changed[at])
        case 2:
            changed[at], changed[other] = changed[other], changed[at]
        case 3:
            changed[at : at + 2] = [b"".join(changed[at : at + 2])]
        case _:
            changed.insert(at, chance.choice((b"", b"\r", b"   ", b"{}", b"null", b"[" * 2000)))
    return joined(tuple(changed))


def change_values(lines: Lines, chance: random.Random) -> bytes:
    """One value or a few in a line become another one, of another type or size; the line's seal stays as it was."""
    at = chance.randrange(len(lines))
    return joined((*lines[:at], _changed(lines[at], chance), *lines[at + 1 :]))


def forge(lines: Lines, chance: random.Random) -> bytes:
    """The same, with a correct seal: the damage cannot be detected, but nothing may break. Some lines are removed, and all are
    renumbered."""
    kept = [line for line in lines if chance.random() > 0.02]
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(kept))
        kept[at] = _changed(kept[at], chance)
    return joined(tuple(_sealed_again(line, number) for number, line in enumerate(kept, start=1)))


def _sealed_again(line: bytes, number: int) -> bytes:
    fields = msgspec.json.decode(line)
    if not isinstance(fields, dict) or not fields.pop("line", None):
        return line
    fields.pop("crc", None)
    line = sealed(msgspec.json.encode(fields), number)
    assert number_of(line) == number
    return line


def _changed(line: bytes, chance: random.Random) -> bytes:
    whole = msgspec.json.decode(line)
    for _ in range(chance.choice((1, 1, 1, 3))):
        holder, key = _somewhere(whole, chance)
        holder[key] = _other(holder[key], chance)
    try:
        return msgspec.json.encode(whole)
    except RecursionError:  # two depths came upon each other
        return line


def _somewhere(value: Any, chance: random.Random) -> tuple[Any, Any]:
    """Where a value is held, at any depth: the object or list, and its key."""
    holders = [value]
    for holder in holders:
        inner = holder.values() if isinstance(holder, dict) else holder
        holders += [each for each in inner if isinstance(each, dict | list) and each]
    holder = chance.choice(holders)
    return holder, chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))


def _other(value: Any, chance: random.Random) -> Any:
    kind = chance.random()
    if kind < 0.1:
        return _nested(chance.choice((3, 40, 500)))
    if kind < 0.3 and isinstance(value, int | float):
        return value * chance.choice((-1, 0, 10, 1e6, 1e12))
    if kind < 0.4 and isinstance(value, str) and value:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice("A0=\x00é\udfff".replace("\udfff", "z")) + value[at + 1 :]
    return copy.deepcopy(chance.choice(_OTHERS))  # a later change may go into it: a case depends on its seed alone


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


SEEN: tuple[Damage, ...] = (flip_bits, flip_digit, flip_digit, overwrite, cut, disorder, change_values)
"""Damage that the reader of a sealed log detects."""
UNSEEN: tuple[Damage, ...] = (forge, forge, forge)
"""Damage that it cannot detect."""
