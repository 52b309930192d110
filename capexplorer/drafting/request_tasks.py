"""A request as someone described it, and as a task of a profile, with `${NAME}` in place of each secret. Pure."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import parse_qsl, quote_plus, unquote_plus, urlsplit

import msgspec
from msgspec.structs import replace

from ..errors import InputError
from ..profile import METHODS, PLACEHOLDER, Task
from ..session import redact
from ..toml import nearest, shown

_HEADERS_OF_ONE_CLIENT = frozenset(
    "accept-encoding cache-control connection content-length dnt if-modified-since if-none-match pragma priority proxy-connection"
    " referer te transfer-encoding upgrade-insecure-requests".split()
)
"""Headers that describe one connection, or what a browser already has: with them a service may answer 304 without any work."""


class Request(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    """With its query."""
    origin: str | None = None
    """`http://127.0.0.1:8000`; None: the service's, whatever it is."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: str | None = None
    weight: int = 1


def request(method: str, url: str, headers: dict[str, str], body: str | None, where: str) -> Request:
    """A request to a whole URL or a path. `where` names the file or option in messages. Raises InputError."""
    if method.upper() not in METHODS:
        raise InputError(f"{where}: method: {nearest(method.upper(), METHODS)}, got {shown(method)}")
    try:
        parts = urlsplit(url)
        has_host = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        has_host = False
    if not has_host and not url.startswith("/"):
        raise InputError(f"{where}: URL: expected a path that starts with /, or http://HOST[:PORT]/PATH, got {shown(url)}")
    if has_host and parts.username is not None:
        raise InputError(f"{where}: URL: expected no user or password in it; give them as curl's -u USER:PASSWORD")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = {name: value for name, value in headers.items() if _is_kept_header(name)}
    return Request(method.upper(), path, f"{parts.scheme}://{parts.netloc}" if has_host else None, kept, body)


def _is_kept_header(name: str) -> bool:
    return name.lower() not in _HEADERS_OF_ONE_CLIENT and not name.lower().startswith(("sec-", ":"))


def merged(requests: list[Request]) -> list[Request]:
    """Requests that differ at most in headers and weight as one, with the headers of the first and the sum of their weights."""
    found: dict[tuple[object, ...], Request] = {}
    for each in requests:
        key = (each.method, each.origin, each.path, each.body)
        known = found.get(key)
        found[key] = each if known is None else replace(known, weight=known.weight + each.weight)
    return list(found.values())


# -- references ----------------------------------------------------------------------------------------------------------------
# A request as a task of a profile, with `${NAME}` in place of each secret. Pure.
#
# `session/redact` decides what may be a secret; in doubt it is one, so that some harmless values are replaced, too.


_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)

JSON_DEPTH_MOST = 24
"""Greatest nesting of a JSON body: a profile has at most 32 levels (`toml.DEEP_MOST`), some of which contain the task."""


class Secrets(msgspec.Struct):
    """Environment variables that the tasks refer to, with the values that the requests had."""

    values: dict[str, str] = msgspec.field(default_factory=dict)

    def reference(self, name: str, value: str) -> str:
        """`${NAME}` for a value; the same value has the same name, another one under that name gets a number. `{{NAME}}`, which
        each request draws, stays."""
        if PLACEHOLDER.search(value):
            return value
        base = re.sub(r"\W+", "_", name).strip("_").upper() or "SECRET"
        base = base if not base[0].isdigit() else f"SECRET_{base}"
        variable, number = base, 2
        while self.values.setdefault(variable, value) != value:
            variable, number = f"{base}_{number}", number + 1
        return f"${{{variable}}}"


def task(request: Request, secrets: Secrets) -> Task:
    """The task. Its name is the path without its query."""
    name, path = request.path.partition("?")[0], _path(request.path, secrets)
    headers = {key: _header(key, value, secrets) for key, value in request.headers.items()}
    value, kept = _json_of(request.body, headers)
    return Task(
        name=name,
        path=path if path != name else None,
        weight=request.weight,
        method=request.method,
        headers=kept,
        body=_body(request.body, secrets) if request.body is not None and value is None else None,
        json=_with_references(value, "", secrets) if value is not None else None,
    )


def _header(name: str, value: str, secrets: Secrets) -> str:
    is_secret = redact.is_secret_name(name) or redact.text(f"{name}: {value}") != f"{name}: {value}"
    return secrets.reference(name, value) if is_secret else value


def _path(path: str, secrets: Secrets) -> str:
    name, mark, query = path.partition("?")
    return name + mark + _form(query, secrets)


def _form(text: str, secrets: Secrets) -> str:
    """`a=1&token=abc` as `a=1&token=${TOKEN}`. What has no secret stays as it was written."""
    parts = []
    for part in text.split("&"):
        name, equals, value = part.partition("=")
        if equals and value and (redact.is_secret_name(unquote_plus(name)) or redact.text(part) != part):
            value = secrets.reference(unquote_plus(name), value)
        parts.append(f"{name}{equals}{value}")
    return "&".join(parts)


def _json_of(body: str | None, headers: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """(value, headers without its Content-Type) of a JSON body that a profile's `json` can hold; else (None, headers)."""
    kind = next((name for name in headers if name.lower() == "content-type"), None)
    if body is None or kind is None or not _JSON.match(headers[kind]):
        return None, headers
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None, headers
    if not isinstance(value, dict | list) or not value or not _fits_toml(value):
        return None, headers
    return value, {name: text for name, text in headers.items() if name != kind}


def _fits_toml(value: Any, depth: int = 0) -> bool:
    """Whether a profile can contain the value: TOML has no null, and its integers have 64 bits."""
    if isinstance(value, dict | list):
        return depth < JSON_DEPTH_MOST and all(
            _fits_toml(each, depth + 1) for each in (value.values() if isinstance(value, dict) else value)
        )
    if isinstance(value, float):
        return math.isfinite(value)
    return value is not None and (not isinstance(value, int) or -(2**63) <= value < 2**63)


def _with_references(value: Any, name: str, secrets: Secrets) -> Any:
    """A JSON value with a reference in place of each secret. `name`: the key of the value, or of what contains it."""
    if isinstance(value, dict):
        return {
            key: _with_references(each, key if not redact.is_secret_name(name) else name, secrets) for key, each in value.items()
        }
    if isinstance(value, list):
        return [_with_references(each, name, secrets) for each in value]
    if value in (None, "") or isinstance(value, bool) or redact.nested(value, name) == value:
        return value
    return secrets.reference(name or "secret", str(value))


def _body(body: str, secrets: Secrets) -> str:
    """A form by its fields; any other text as a whole."""
    if parse_qsl(body) and quote_plus(body, safe="=&+%") == body:
        return _form(body, secrets)
    return secrets.reference("body", body) if redact.text(body) != body else body
