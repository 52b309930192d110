"""What a person gives as requests: a path, a URL, a curl command, or a file with any of HAR, OpenAPI and curl commands."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..profile import METHODS, PLACEHOLDER, Param
from ..toml import shown
from . import curl, har, openapi
from .request import Request, request

MB_MOST = 64
"""Of a file: recordings hold the bodies of all replies."""
REQUESTS_MOST = 50
"""More would be sent for a minute, and read by nobody in a profile."""

_LINE = re.compile(rf"(?:(?P<method>(?i:{'|'.join(METHODS)}))\s+)?(?P<url>/\S*|https?://\S+)(?:\s+(?P<body>.*))?", re.DOTALL)
_COMMANDS = re.compile(r"^(?=\s*(?:\$\s+)?curl(?:\.exe)?\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Described:
    """Requests, and what of the description is not among them."""

    requests: list[Request]
    left_out: list[str] = field(default_factory=list)


def read(text: str, where: str, origin: str | None = None) -> Described:
    """`origin`: of the service, where it is known. Raises InputError: one line with the file, the key, what was expected."""
    if curl.is_curl(text):
        return Described([curl.parse(text, where)])
    path = Path(text.strip()).expanduser()
    if os.path.isfile(path):  # before paths of requests, since an absolute path looks like one
        return _bounded(_read_file(path, origin))
    line = _LINE.fullmatch(text.strip())
    if line is None:
        expected = "a path that starts with /, METHOD /PATH [BODY], a curl command, or a HAR or OpenAPI file"
        raise InputError(f"{where}: expected {expected}, got {shown(text)}")
    body = line["body"]
    kind = {"Content-Type": _kind(body, where)} if body is not None else {}
    return Described([request(line["method"] or ("GET" if body is None else "POST"), line["url"], kind, body, where)])


def _kind(body: str, where: str) -> str:
    """The Content-Type of a body that is JSON, or a form such as `a=1&b=2`. Raises InputError: neither."""
    if body.startswith(("{", "[")):
        try:
            json.loads(PLACEHOLDER.sub("0", body))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: body: expected JSON, since it begins with {body[0]}: {error}") from None
        return "application/json"
    if "=" in body and not re.search(r"\s", body):
        return curl.FORM
    raise InputError(f'{where}: body: expected JSON such as {{"item": 1}} or a form such as a=1&b=2, got {shown(body)}')


def values(texts: Sequence[str], where: str) -> dict[str, tuple[Param, ...] | str]:
    """`NAME=A,B,C` and `NAME=FILE.csv[:COLUMN]` as the `[users.values]` of a profile. Raises InputError."""
    found: dict[str, tuple[Param, ...] | str] = {}
    for text in texts:
        name, equals, given = text.partition("=")
        if not equals or not name.isidentifier() or not given.strip():
            raise InputError(f"{where}: expected NAME=A,B,C or NAME=FILE.csv[:COLUMN], got {shown(text)}")
        is_file = re.search(r"[.]csv(?::[^:]+)?\Z", given) is not None
        found[name] = given if is_file else tuple(_typed(each.strip()) for each in given.split(","))
    return found


def _typed(text: str) -> Param:
    """A number, true or false, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)) else text


def _read_file(path: Path, origin: str | None) -> Described:
    where = str(path)
    try:
        if path.stat().st_size > MB_MOST * 1e6:
            raise InputError(f"{where}: expected a file of at most {MB_MOST} MB")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if curl.is_curl(text):
        commands = [part for part in _COMMANDS.split(text) if part.strip()]
        return Described([curl.parse(part, f"{where}: command {number}") for number, part in enumerate(commands, 1)])
    raw = _parsed(text, path)
    if isinstance(raw, Mapping) and "log" in raw:
        return Described(har.parse(raw, where, origin))
    if isinstance(raw, Mapping) and ("openapi" in raw or "swagger" in raw):
        return Described(*openapi.parse(raw, where))
    raise InputError(f"{where}: expected a HAR file (key `log`), an OpenAPI file (key `openapi`) or curl commands")


def _parsed(text: str, path: Path) -> Any:
    if path.suffix.lower() in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())[:200]}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON: {' '.join(str(error).split())[:200]}") from None


def _bounded(found: Described) -> Described:
    kept, beyond = found.requests[:REQUESTS_MOST], found.requests[REQUESTS_MOST:]
    return Described(kept, [*found.left_out, *(f"{each.method} {each.path}" for each in beyond)])
