"""A request as the bytes that go on the wire: made once for a profile's task, and sent as often as wanted."""

from __future__ import annotations

import inspect
import json as json_codec
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

import msgspec
import requests
from geventhttpclient.header import Headers
from requests.auth import HTTPBasicAuth
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema
from requests.utils import requote_uri

from ..user_code import UserCodeFault

# -- what the lean client does not do is refused in one line: where in the locustfile, and which class does it


REMEDIES = {
    "proxies": "which HttpUser takes, or `proxy_host` of FastHttpUser",
    "cert": "a client certificate: give `ssl_context_factory` of the class a context with `load_cert_chain`, or use HttpUser",
    "hooks": "which HttpUser takes; here a listener of `events.request` sees each response",
    "max_retries": "since a failed attempt is a failure here: repeat the request in the task, or use FastHttpUser",
    "mount": "since it has no adapters of requests: use HttpUser",
    "proxy_host": "since it has no proxy: use FastHttpUser",
    "proxy_port": "since it has no proxy: use FastHttpUser",
    "pool_manager": "which is urllib3's: use HttpUser, or share connections by `client_pool`",
}
"""By argument or attribute: the end of the sentence that begins with `LeanHttpUser does not take ...`."""

_INSIDE = ("capexplorer", "contextlib", "gevent", "locust")
"""Top-level modules that may lie between the locustfile and the client."""


class LeanRefusal(UserCodeFault):
    """User code asks for something that the lean client does not do. Its text begins with the place in the locustfile."""


def refused(name: str, remedy: str | None = None) -> LeanRefusal:
    """The error for an argument or attribute. `remedy`: the end of the sentence; None: that of `REMEDIES`."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE:
        frame = frame.f_back
    place = "" if frame is None else f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}"
    return LeanRefusal(f"{place}: LeanHttpUser does not take `{name}`, {remedy or REMEDIES.get(name, 'nor does FastHttpUser')}")


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


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """One request. It is made in a fifth of the time of a dataclass, and no collection looks at it."""

    method: str
    url: str
    """The absolute URL, without user and password."""
    origin: Origin
    data: bytes
    """Head and body as they are sent."""
    is_head: bool
    asks_to_close: bool
    """Whether it has `Connection: close`, so that the service ends the connection on our request."""
    fields: Mapping[str, str]
    """The headers without Host."""
    payload: bytes

    def __repr__(self) -> str:
        return f"<{self.method} {self.url}>"

    @property
    def headers(self) -> Headers:
        """The headers without Host and cookies, by name regardless of upper and lower case."""
        return Headers(self.fields)

    @property
    def body(self) -> str | bytes:
        """The body; as text, if it is UTF-8."""
        try:
            return self.payload.decode()
        except UnicodeDecodeError:
            return self.payload

    def moved(self, url: str, *, as_get: bool) -> Prepared:
        """The same request for the URL of a redirect. `as_get`: as a GET without body, unless it is HEAD.

        Credentials are not sent to another host.
        """
        drops_body = as_get and not self.is_head
        drops = {"content-length", "content-type"} if drops_body else set()
        if urlsplit(url).hostname != self.origin.host:
            drops |= {"authorization", "cookie", "host"}
        fields = {name: value for name, value in self.fields.items() if name.lower() not in drops}
        return prepare("GET" if drops_body else self.method, url, headers=fields, data=b"" if drops_body else self.payload)


def prepare(
    method: str,
    url: str,
    *,
    headers: Mapping[str, Any] | None = None,
    params: Any = None,
    data: Any = None,
    json: Any = None,
    files: Any = None,
    auth: Any = None,
) -> Prepared:
    """The request for an absolute http or https URL. Raises ValueError for another URL, and for an invalid method or header;
    LeanRefusal for a body or an `auth` of another type.

    `json` is used only without `data`; a mapping or pairs as `data` are sent as a form, with `files` as a multipart one.
    `headers` replace the default ones; one that is None is not sent.
    """
    method = method.upper()
    parts = urlsplit(requote_uri(_in_ascii(url) if params is None else _with_query(_in_ascii(url), params)))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        kind = InvalidURL if parts.scheme in ("http", "https") else InvalidSchema if "://" in url else MissingSchema
        raise kind(f"expected http://HOST or https://HOST, got {url!r:.60}")
    body, described = _multipart(files, data) if files else _body(data, json)
    own = {name.lower() for name in headers or {}}
    fields: dict[str, Any] = {name: value for name, value in (DEFAULT_HEADERS | described).items() if name.lower() not in own}
    if auth is None and parts.username is not None and "authorization" not in own:
        auth = unquote(parts.username), unquote(parts.password or "")
    if auth is not None:
        fields["Authorization"] = basic(auth)
    if (body or method in _WITH_BODY) and not own & {"content-length", "transfer-encoding"}:
        fields["Content-Length"] = str(len(body))
    fields |= headers or {}
    sent = {name: _value(name, value) for name, value in fields.items() if value is not None}
    netloc = parts.netloc.rpartition("@")[2]
    lines = [f"{_token(method)} {parts.path or '/'}{'?' * bool(parts.query)}{parts.query} HTTP/1.1"]
    lines += [] if "host" in own else [f"Host: {netloc}"]
    lines += [f"{_token(name)}: {value}" for name, value in sent.items()]
    return Prepared(
        method=method,
        url=parts._replace(netloc=netloc).geturl(),
        origin=Origin(parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)),
        data="\r\n".join((*lines, "", "")).encode("latin-1") + body,
        is_head=method == "HEAD",
        asks_to_close=any(name.lower() == "connection" and "close" in value.lower() for name, value in sent.items()),
        fields=sent,
        payload=body,
    )


def _in_ascii(url: str) -> str:
    """The URL with its host in ASCII. Raises InvalidURL."""
    if url.isascii() or (host := urlsplit(url).hostname or "").isascii():
        return url
    try:
        return url.replace(host, host.encode("idna").decode(), 1)
    except UnicodeError as error:
        raise InvalidURL(f"{url!r:.60}: no host has this name: {error}") from None


def basic(auth: Any) -> str:
    """The value of an Authorization header. `auth`: (user, password), as text or bytes, or an HTTPBasicAuth of requests."""
    if type(auth) is HTTPBasicAuth:
        auth = auth.username, auth.password
    if not isinstance(auth, tuple | list) or len(auth) != 2:
        raise refused("auth", "unless it is (user, password): send the header Authorization, or use HttpUser")
    return "Basic " + b64encode(b":".join(part if isinstance(part, bytes) else str(part).encode() for part in auth)).decode()


def _with_query(url: str, params: Any) -> str:
    """The URL with further parameters: text, a mapping or pairs, of which those that are None are left out."""
    if isinstance(params, str | bytes):
        query = params if isinstance(params, str) else params.decode()
    else:
        query = _form(params)
    return f"{url}{'&' if urlsplit(url).query else '?'}{query}" if query else url


def _form(pairs: Any) -> str:
    """A mapping or pairs as a form. A value may be a list; those that are None are left out."""
    found = []
    for name, value in pairs.items() if isinstance(pairs, Mapping) else pairs:
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        found += [(name, each) for each in (value if several else [value]) if each is not None]
    return urlencode(found)


def _body(data: Any, json: Any) -> tuple[bytes, dict[str, str]]:
    """The body, and the headers that describe it."""
    if isinstance(data, Mapping | list | tuple) and data:
        return _form(data).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    if hasattr(data, "read"):
        data = data.read()
    if data:
        if not isinstance(data, str | bytes | bytearray | memoryview):
            raise refused("data", f"as {type(data).__name__}: give it text or bytes, such as b''.join(...)")
        return data.encode() if isinstance(data, str) else bytes(data), {}
    if json is None:
        return b"", {}
    return json_codec.dumps(json).encode(), {"Content-Type": "application/json", "Accept": "application/json"}


def _multipart(files: Any, data: Any) -> tuple[bytes, dict[str, str]]:
    """A form with files, in all forms that requests takes."""
    made = requests.Request("POST", "http://localhost/", files=files, data=data).prepare()
    body = made.body or b""
    return body if isinstance(body, bytes) else str(body).encode(), {"Content-Type": str(made.headers["Content-Type"])}


def _token(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"invalid method or header name {name!r:.60}")
    return name


def _value(name: str, value: object) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if _FORBIDDEN.search(text):
        raise ValueError(f"invalid value for header {name}: {value!r:.60}")
    return text
