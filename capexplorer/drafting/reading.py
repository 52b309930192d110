"""What a person gives as requests: a path, a URL, a curl command, or a file with any of HAR, OpenAPI and curl commands."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec.structs import replace

from ..errors import InputError
from ..profile import METHODS, PLACEHOLDER, Param
from ..toml import shown
from . import curl
from .request_tasks import Request, merged, request

# -- har -----------------------------------------------------------------------------------------------------------------------
# A HAR file (a recording of a browser or a proxy) as requests to one service. Sends nothing.


_OF_THE_BROWSER = frozenset(("host", "user-agent", "accept-language", "origin"))


class _Header(msgspec.Struct):
    name: str
    value: str


class _PostData(msgspec.Struct):
    text: str = ""


class _Request(msgspec.Struct):
    method: str
    url: str
    headers: list[_Header] = []
    postData: _PostData | None = None  # noqa: N815 - the format's name


class _Entry(msgspec.Struct):
    request: _Request


class _Log(msgspec.Struct):
    entries: list[_Entry]


class _Har(msgspec.Struct):
    log: _Log


def parse_har(raw: Any, where: str, origin: str | None) -> list[Request]:
    """Requests to `origin`; None: to the origin with the most. Equal ones are one with their number as its weight.

    Raises InputError: not a HAR file, no request to the service.
    """
    try:
        har = msgspec.convert(raw, _Har)
    except msgspec.ValidationError as error:
        message = str(error)
        raise InputError(f"{where}: not a HAR file: {message[:1].lower()}{message[1:]}") from None
    found = [_request(entry.request, where, index) for index, entry in enumerate(har.log.entries)]
    if not found:
        raise InputError(f"{where}: log.entries: expected at least one request, got none")
    if origin is None:
        origin = Counter(each.origin for each in found).most_common(1)[0][0]
    ours = [each for each in found if each.origin == origin]
    if not ours:
        others = ", ".join(sorted({each.origin or "" for each in found})[:5])
        raise InputError(f"{where}: log.entries: expected requests to {origin}, got requests to {others}")
    return [replace(each, weight=min(each.weight, 10_000)) for each in merged(ours)]


def _request(sent: _Request, where: str, index: int) -> Request:
    headers = {header.name: header.value for header in sent.headers if header.name.lower() not in _OF_THE_BROWSER}
    body = sent.postData.text or None if sent.postData is not None else None
    return request(sent.method, sent.url, headers, body, f"{where}: log.entries[{index}].request")


# -- openapi -------------------------------------------------------------------------------------------------------------------
# An OpenAPI or Swagger file as requests: each GET, with the examples of its required parameters. Sends nothing.
#
# Operations that change data are left out: an example of a schema is seldom an order that a service accepts.


_CHANGING = ("post", "put", "patch", "delete")
_BY_TYPE = {"integer": 1, "number": 1, "boolean": "true", "string": "a"}


def parse_openapi(raw: Mapping[str, Any], where: str) -> tuple[list[Request], list[str]]:
    """(requests, operations that are left out as `POST /orders`). Raises InputError: no path with a GET."""
    paths = raw.get("paths")
    if not isinstance(paths, Mapping):
        raise InputError(f"{where}: paths: expected a table of paths")
    base = _base(raw)
    found, left_out = [], []
    for path, item in paths.items():
        operations = item if isinstance(item, Mapping) else {}
        left_out += [f"{method.upper()} {path}" for method in _CHANGING if method in operations]
        if isinstance(operation := operations.get("get"), Mapping):
            parameters = [*_list(operations.get("parameters")), *_list(operation.get("parameters"))]
            found.append(_get(f"{base}{path}", [_resolved(raw, each) for each in parameters], f"{where}: paths.{path}"))
    if not found:
        raise InputError(f"{where}: paths: expected at least one path with `get`, got none")
    return found, left_out


def _base(raw: Mapping[str, Any]) -> str:
    """The path below which all others are: of OpenAPI 3's first server, or Swagger 2's `basePath`."""
    servers = _list(raw.get("servers"))
    url = servers[0].get("url", "") if servers and isinstance(servers[0], Mapping) else raw.get("basePath", "")
    return urlsplit(str(url)).path.rstrip("/") if "{" not in str(url) else ""


def _get(path: str, parameters: list[Mapping[str, Any]], where: str) -> Request:
    query = {}
    for each in parameters:
        name, value = str(each.get("name")), _example(each)
        if each.get("in") == "path":
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        elif each.get("in") == "query" and (each.get("required") or _given(each) is not None):
            query[name] = value
    return request("GET", path + (f"?{urlencode(query)}" if query else ""), {}, None, where)


def _example(parameter: Mapping[str, Any]) -> str:
    """The file's own example, else a value of its type."""
    given = _given(parameter)
    if given is None:
        schema = parameter.get("schema", parameter)
        kind = schema.get("type", "string") if isinstance(schema, Mapping) else "string"
        given = _BY_TYPE.get(kind if isinstance(kind, str) else "string", "a")
    return str(given).lower() if isinstance(given, bool) else str(given)


def _given(parameter: Mapping[str, Any]) -> Any:
    return next(_examples(parameter), None)


def _examples(parameter: Mapping[str, Any]) -> Iterator[Any]:
    for where in (parameter, parameter.get("schema")):
        if not isinstance(where, Mapping):
            continue
        yield from (where[key] for key in ("example", "default") if where.get(key) is not None)
        examples = where.get("examples")
        named = examples.values() if isinstance(examples, Mapping) else _list(examples)
        yield from (each.get("value") if isinstance(each, Mapping) else each for each in named)
        yield from _list(where.get("enum"))


def _resolved(raw: Mapping[str, Any], parameter: Any) -> Mapping[str, Any]:
    """What a local `$ref` refers to; without one, the parameter itself."""
    reference = parameter.get("$ref") if isinstance(parameter, Mapping) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        parameter = raw
        for part in reference[2:].split("/"):
            parameter = parameter.get(part) if isinstance(parameter, Mapping) else None
    return parameter if isinstance(parameter, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


MB_MOST = 64
"""Of a file: recordings hold the bodies of all replies."""
REQUESTS_MOST = 50
"""More would be sent for a minute, and read by nobody in a profile."""

_LINE = re.compile(rf"(?:(?P<method>(?i:{'|'.join(METHODS)}))\s+)?(?P<url>/\S*|https?://\S+)(?:\s+(?P<body>.*))?", re.DOTALL)
_COMMANDS = re.compile(r"^(?=\s*(?:\$\s+)?curl(?:\.exe)?\s)", re.MULTILINE)


class Described(msgspec.Struct, frozen=True):
    """Requests, and what of the description is not among them."""

    requests: list[Request]
    left_out: list[str] = msgspec.field(default_factory=list)


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
        return Described(parse_har(raw, where, origin))
    if isinstance(raw, Mapping) and ("openapi" in raw or "swagger" in raw):
        return Described(*parse_openapi(raw, where))
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
