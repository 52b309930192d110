"""TOML to a typed, frozen value, or one line that says which file, which key and what was expected.

Must not know any particular file: profiles and targets both come through here.
"""

from __future__ import annotations

import difflib
import re
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .errors import InputError

T = TypeVar("T", bound=msgspec.Struct)

_AT = re.compile(r" - at `(?P<path>[^`]+)`$")


def load(path: Path, kind: type[T]) -> T:
    """Read `path` as a `kind`. Raises InputError: missing, not TOML, unknown key (with the nearest known one), wrong type."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    return convert(raw, kind, str(path))


def convert(raw: Any, kind: type[T], where: str) -> T:
    """Plain values to a `kind`; `where` names the file in messages."""
    _refuse_unknown_keys(raw, kind, where, "")
    try:
        return msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_with_key_first(str(error))}") from None


def _with_key_first(message: str) -> str:
    at = _AT.search(message)
    if at is None:
        return message[:1].lower() + message[1:]
    key = at["path"].removeprefix("$").removeprefix(".")
    said = message[: at.start()]
    return f"{key}: {said[:1].lower() + said[1:]}" if key else said


def _refuse_unknown_keys(raw: Any, kind: Any, where: str, prefix: str) -> None:
    if isinstance(raw, list):
        item = _struct_among(kind, inside_sequence=True)
        if item is not None:
            for index, value in enumerate(raw):
                _refuse_unknown_keys(value, item, where, f"{prefix}[{index}]")
        return
    struct = _struct_among(kind)
    if struct is None or not isinstance(raw, dict):
        return
    hints = typing.get_type_hints(struct)
    known = {field.encode_name: hints[field.name] for field in msgspec.structs.fields(struct)}
    for key, value in raw.items():
        path = f"{prefix}.{key}" if prefix else key
        if key not in known:
            raise InputError(f"{where}: unknown key `{path}`; {nearest(key, known)}")
        _refuse_unknown_keys(value, known[key], where, path)


def nearest(word: str, known: typing.Iterable[str]) -> str:
    """`did you mean X?` or the list of what is known."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"expected one of {', '.join(known)}"


def _struct_among(kind: Any, *, inside_sequence: bool = False) -> type[msgspec.Struct] | None:
    """The struct in `X`, `X | None`, or (inside_sequence) in `tuple[X, ...]`."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        found = (_struct_among(arg, inside_sequence=inside_sequence) for arg in typing.get_args(kind))
        return next((each for each in found if each is not None), None)
    if origin in (tuple, list):
        return _struct_among(typing.get_args(kind)[0]) if inside_sequence else None
    if not inside_sequence and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return None
