"""An OpenAPI or Swagger file as requests: each GET, with the examples of its required parameters. Sends nothing.

Operations that change data are left out: an example of a schema is seldom an order that a service accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ..errors import InputError
from .request import Request, request

_CHANGING = ("post", "put", "patch", "delete")
_BY_TYPE = {"integer": 1, "number": 1, "boolean": "true", "string": "a"}


def parse(raw: Mapping[str, Any], where: str) -> tuple[list[Request], list[str]]:
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
