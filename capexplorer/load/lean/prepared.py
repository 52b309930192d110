"""A request as the bytes that go on the wire: made once for a profile's task, and sent as often as wanted."""

from __future__ import annotations

import json as json_codec
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

from requests.utils import requote_uri

DEFAULT_HEADERS = {"User-Agent": "capexplorer-lean", "Accept-Encoding": "gzip, deflate, br"}
"""The encodings that the other clients ask for, so that a service has the same work."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN = re.compile(r"[\r\n\0]")
_WITH_BODY = ("POST", "PUT", "PATCH")
"""Methods whose requests have a Content-Length even without a body."""


class Origin(NamedTuple):
    """The server that a connection leads to. An idle connection can serve any request to the same origin."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """One request."""

    method: str
    url: str
    """The absolute URL, without user and password."""
    origin: Origin
    data: bytes
    """Head and body as they are sent."""
    is_head: bool
    asks_to_close: bool
    """Whether it has `Connection: close`, so that the service ends the connection on our request."""
    fields: Mapping[str, str] = field(repr=False)
    """The headers without Host."""
    body: bytes = field(repr=False)

    def moved(self, url: str, *, as_get: bool) -> Prepared:
        """The same request for the URL of a redirect. `as_get`: as a GET without body, unless it is HEAD.

        Credentials are not sent to another host.
        """
        drops_body = as_get and not self.is_head
        drops = {"content-length", "content-type"} if drops_body else set()
        if urlsplit(url).hostname != self.origin.host:
            drops |= {"authorization", "cookie", "host"}
        fields = {name: value for name, value in self.fields.items() if name.lower() not in drops}
        return prepare("GET" if drops_body else self.method, url, headers=fields, data=b"" if drops_body else self.body)


def prepare(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Any = None,
    data: str | bytes | Mapping[str, Any] | None = None,
    json: Any = None,
    auth: tuple[str, str] | None = None,
) -> Prepared:
    """The request for an absolute http or https URL. Raises ValueError for another URL, and for an invalid method or header.

    `json` is used only without `data`; a mapping as `data` is sent as a form. `headers` replace the default ones.
    """
    parts = urlsplit(requote_uri(url if params is None else _with_query(url, params)))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected http://HOST or https://HOST, got {url!r:.60}")
    body, described = _body(data, json)
    own = {name.lower() for name in headers or {}}
    fields = {name: value for name, value in (DEFAULT_HEADERS | described).items() if name.lower() not in own}
    if auth is None and parts.username is not None and "authorization" not in own:
        auth = unquote(parts.username), unquote(parts.password or "")
    if auth is not None:
        fields["Authorization"] = basic(*auth)
    if (body or method in _WITH_BODY) and not own & {"content-length", "transfer-encoding"}:
        fields["Content-Length"] = str(len(body))
    fields |= headers or {}
    netloc = parts.netloc.rpartition("@")[2]
    lines = [f"{_token(method)} {parts.path or '/'}{'?' * bool(parts.query)}{parts.query} HTTP/1.1"]
    lines += [] if "host" in own else [f"Host: {netloc}"]
    lines += [f"{_token(name)}: {_value(name, value)}" for name, value in fields.items()]
    return Prepared(
        method=method,
        url=parts._replace(netloc=netloc).geturl(),
        origin=Origin(parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)),
        data="\r\n".join((*lines, "", "")).encode("latin-1") + body,
        is_head=method == "HEAD",
        asks_to_close=any(name.lower() == "connection" and "close" in value.lower() for name, value in fields.items()),
        fields=fields,
        body=body,
    )


def basic(user: str, password: str) -> str:
    """The value of an Authorization header."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _with_query(url: str, params: Any) -> str:
    query = params if isinstance(params, str) else urlencode(params, doseq=True)
    return f"{url}{'&' if urlsplit(url).query else '?'}{query}"


def _body(data: str | bytes | Mapping[str, Any] | None, json: Any) -> tuple[bytes, dict[str, str]]:
    """The body, and the headers that describe it."""
    if isinstance(data, Mapping):
        return urlencode(data, doseq=True).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    if data:
        return data.encode() if isinstance(data, str) else bytes(data), {}
    if json is None:
        return b"", {}
    return json_codec.dumps(json).encode(), {"Content-Type": "application/json", "Accept": "application/json"}


def _token(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"invalid method or header name {name!r:.60}")
    return name


def _value(name: str, value: object) -> str:
    if _FORBIDDEN.search(str(value)):
        raise ValueError(f"invalid value for header {name}: {value!r:.60}")
    return str(value)
