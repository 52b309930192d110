"""TOML to a typed, frozen value, or one line that says which file, which key and what was expected.

Must not know any particular file: profiles, targets and `--limit` come through here. A file has at most 256 KiB, keys of at most
32 parts and values nested at most 32 deep: within these bounds any text is read or refused in well under a second.

Types say what a value may be: `Annotated[int, msgspec.Meta(ge=0)]`; structs refuse unknown keys (`forbid_unknown_fields`). A
pattern begins with what it expects, in words, as a comment: `(?#a path that starts with /)^/`.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
import types
import typing
from datetime import date, time
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .errors import InputError

T = TypeVar("T", bound=msgspec.Struct)

KIB_MOST = 256
PARTS_MOST = 32
"""Of one dotted key: tomllib takes a time that grows with the square of their number (20,000 parts: 78 s)."""
DEEP_MOST = 32
_SHOWN_MOST = 60
"""Characters of a value that a message quotes."""
_KNOWN_MOST = 20
"""Names that a message lists."""

_AT = re.compile(r" - at (?:`key` in )?`\$?\.?(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_STEP = re.compile(r"(?P<key>\w+)|\[(?P<index>\d+)\]")
_PATTERN = re.compile(r"`str` matching regex ['\"]\(\?#(?P<words>[^)]*)\).*['\"]$", re.DOTALL)
_BOUND = re.compile(r"`(?:int|float)` (?P<sign>>=|<=|>) (?P<bound>\S+)")
_LENGTH = re.compile(r"`array` of length (?P<sign>>=|<=)? ?(?P<bound>\d+)")
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", None: "exactly"}
_KEY_PART = r"""(?:(?<![\w-])[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rf"(?:{_KEY_PART}\.[ \t]*){{{PARTS_MOST},}}")
_DIGITS = re.compile(r"[\d_]{4300,}")
"""More than Python reads as one number."""


def load(path: Path, kind: type[T]) -> T:
    """Read `path` as a `kind`. Raises InputError: missing, not TOML, unknown key (with the nearest known one), wrong value."""
    return convert(parse(_text_of(path), str(path)), kind, str(path))


def parse(text: str, where: str) -> dict[str, Any]:
    """TOML to plain values; `where` names the file or option in messages. Raises InputError."""
    if (long_key := _LONG_KEY.search(text)) is not None:
        raise InputError(f"{where}: line {_line(text, long_key.start())}: expected keys of at most {PARTS_MOST} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {_one_line(str(error))}") from None
    except RecursionError:
        raise _too_deep(where, _key_of_most_brackets(text)) from None
    except ValueError:  # an integer that Python does not read
        found = _DIGITS.search(text)
        key = _key_at(text, found.start()) if found else "a number"
        raise InputError(f"{where}: {key}: expected a number that fits 64 bits, got one of thousands of digits") from None


def convert(raw: Any, kind: type[T], where: str) -> T:
    """Plain values to a `kind`; `where` names the file in messages. Raises InputError."""
    _refuse_odd_values(raw, where, "", 0)
    try:
        return msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_with_key_first(str(error), raw, kind)}") from None


def nearest(word: str, known: typing.Iterable[str], otherwise: str = "") -> str:
    """`did you mean X?`; where nothing is like it, `otherwise`, or the list of what is known."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    more = ", ..." * (len(known) > _KNOWN_MOST)
    return f"did you mean `{close[0]}`?" if close else otherwise or f"expected one of {', '.join(known[:_KNOWN_MOST])}{more}"


def shown(value: Any) -> str:
    """A value as a message quotes it: in one line, cut where it is long."""
    text = repr(value[: _SHOWN_MOST + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN_MOST + 2 else f"{text[:_SHOWN_MOST]}...{text[0] if isinstance(value, str) else ''}"


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(KIB_MOST * 1024 + 1)
        if len(content) > KIB_MOST * 1024:
            raise InputError(f"{path}: expected a file of at most {KIB_MOST} KiB")
        return content.decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _refuse_odd_values(value: Any, where: str, key: str, deep: int) -> None:
    """Refuses values that TOML has and JSON has not: nan, inf, dates, integers beyond 64 bits."""
    if deep > DEEP_MOST:
        raise _too_deep(where, key)
    if isinstance(value, dict):
        for name, inner in value.items():
            _refuse_odd_values(inner, where, _joined(key, name), deep + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_odd_values(inner, where, f"{key}[{index}]", deep + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where}: {key}: expected a finite number, got {value:g}")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputError(f"{where}: {key}: expected a number that fits 64 bits, got one of {value.bit_length():,} bits")
    elif isinstance(value, date | time):
        raise InputError(f"{where}: {key}: expected text, a number, true or false, a list or a table, got a date or time")


def _too_deep(where: str, key: str) -> InputError:
    return InputError(f"{where}: {key}: expected values nested at most {DEEP_MOST} deep")


@lru_cache
def _kinds(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Its keys and what each may be."""
    hints = typing.get_type_hints(struct)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(struct)}


def _struct_among(kind: Any, *, inside_sequence: bool = False) -> type[msgspec.Struct] | None:
    """The struct in `X`, `X | None`, or (inside_sequence) in `tuple[X, ...]`; `get_type_hints` has taken `Annotated` off."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        found = (_struct_among(arg, inside_sequence=inside_sequence) for arg in typing.get_args(kind))
        return next((each for each in found if each is not None), None)
    if origin in (tuple, list):
        return _struct_among(typing.get_args(kind)[0]) if inside_sequence else None
    if not inside_sequence and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return None


def _choices(kind: Any, path: str) -> list[str]:
    """What the key at `path` may be, if only certain values are allowed, or a number in place of them."""
    return _allowed(_kind_at(kind, path))


def _kind_at(kind: Any, path: str) -> Any:
    for step in _STEP.finditer(path):
        struct = _struct_among(kind, inside_sequence=step["key"] is None)
        if step["key"] is None:
            kind = struct
        elif struct is not None:
            kind = _kinds(struct).get(step["key"])
    return kind


def _allowed(kind: Any) -> list[str]:
    if typing.get_origin(kind) is typing.Literal:
        return [str(value) for value in typing.get_args(kind)]
    if kind is int:
        return ["a whole number"]
    return [value for arg in typing.get_args(kind) for value in _allowed(arg)]


def _with_key_first(message: str, raw: Any, kind: Any) -> str:
    """msgspec's `Expected ... - at $.key` as `key: expected ..., got ...`."""
    at = _AT.search(message)
    words = message[: at.start()] if at else message
    if unknown := _UNKNOWN.fullmatch(words):
        path = at["path"] if at else ""
        struct = _struct_among(_kind_at(kind, path))
        return f"unknown key `{_joined(path, unknown[1])}`; {nearest(unknown[1], _kinds(struct) if struct else ())}"
    words = _PATTERN.sub(lambda found: found["words"], words)
    words = _BOUND.sub(lambda found: f"{_SIGNS[found['sign']]} {found['bound'].removesuffix('.0')}", words)
    words = _LENGTH.sub(lambda found: f"a list of {_SIGNS[found['sign']]} {_counted(found['bound'])}", words)
    words = _one_line(words[:1].lower() + words[1:])
    if at is None:
        return words
    value, choices = _value_at(raw, at["path"]), _choices(kind, at["path"])
    if choices and words.startswith("invalid enum value"):
        words = f"expected one of {', '.join(choices)}"
    if isinstance(value, list) and "a list of" in words:
        words = f"{words.partition(', got')[0]}, got {len(value)}"
    if isinstance(value, str | int | float) and "got " not in words and "'" not in words:
        words += f", got {shown(value)}"
    return f"{at['path']}: {words}" if at["path"] else words


def _counted(entries: str) -> str:
    return f"{entries} entr{'y' if entries == '1' else 'ies'}"


def _value_at(raw: Any, path: str) -> Any:
    """None where the path does not say which: `headers[...]`."""
    if "[...]" in path:
        return None
    for step in _STEP.finditer(path):
        raw = raw[step["key"]] if step["key"] else raw[int(step["index"])]
    return raw


def _joined(prefix: str, key: str) -> str:
    key = key if len(key) <= _SHOWN_MOST and key.isprintable() else shown(key)
    return f"{prefix}.{key}" if prefix else key


def _one_line(text: str) -> str:
    text = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    return text if len(text) <= 4 * _SHOWN_MOST else f"{text[: 4 * _SHOWN_MOST]}..."


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _key_at(text: str, offset: int) -> str:
    """What stands before the `=` of that line."""
    key = text[text.rfind("\n", 0, offset) + 1 : offset].partition("=")[0].strip()
    return f"{_joined('', key)} (line {_line(text, offset)})"


def _key_of_most_brackets(text: str) -> str:
    line = max(text.split("\n"), key=lambda line: line.count("[") + line.count("{"))
    return _key_at(text, text.index(line) + len(line))
