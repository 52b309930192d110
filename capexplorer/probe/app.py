"""A target's own metrics, over HTTP: numbers in JSON (nested names joined with dots) or `name value` lines.

Must never hold up the tick for longer than half a second, and never fail it: what did not come is None. Uses the C-level socket,
for `socket` belongs to gevent. The target closes first, so that no port of ours is left in TIME_WAIT.
"""

from __future__ import annotations

import _socket
import math
import time
from urllib.parse import urlsplit

import msgspec

_TIMEOUT_S = 0.5
_CLOSES_WITHIN_S = 0.05
"""How long a target may take to close when the whole answer is here."""

_MOST_BYTES = 1 << 20


class AppProbe:
    """Reads the metrics of one URL. The host's name is resolved once."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._host = parts.netloc.rpartition("@")[2]
        self._address = _resolved(parts.hostname or "", parts.port or 80) if parts.scheme == "http" else None

    def read(self) -> dict[str, float] | None:
        """The metrics now; None when they did not come whole, in time, with status 200."""
        if self._address is None:
            return None
        try:
            return metrics(*answer(self._fetch(*self._address)))
        except (OSError, ValueError):
            return None

    def _fetch(self, family: int, address: tuple[object, ...]) -> bytes:
        request = f"GET {self._path} HTTP/1.0\r\nHost: {self._host}\r\nAccept: application/json, text/plain\r\n\r\n"
        ends_at = time.monotonic() + _TIMEOUT_S
        connection = _socket.socket(family, _socket.SOCK_STREAM)
        try:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(address)
            connection.settimeout(max(ends_at - time.monotonic(), 0.001))
            connection.sendall(request.encode())
            return _read_to_end(connection, ends_at)
        finally:
            connection.close()

    def close(self) -> None:
        """Nothing is held between two reads."""


def _resolved(host: str, port: int) -> tuple[int, tuple[object, ...]] | None:
    try:
        family, _, _, _, address = _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM)[0]
    except OSError:
        return None
    return family, address


def _read_to_end(connection: _socket.socket, ends_at: float) -> bytes:
    """All until the other end closes. TimeoutError when `ends_at` passes before the answer is whole."""
    received = b""
    while len(received) < _MOST_BYTES:
        whole = is_whole(received)
        left_s = min(ends_at - time.monotonic(), _CLOSES_WITHIN_S if whole else _TIMEOUT_S)
        if left_s <= 0 and not whole:
            raise TimeoutError
        connection.settimeout(max(left_s, 0.001))
        try:
            piece = connection.recv(65536)
        except TimeoutError:
            if whole:
                return received
            raise
        if not piece:
            return received
        received += piece
    raise ValueError("too long")


def is_whole(received: bytes) -> bool:
    """Whether as much has come as Content-Length says; False when it does not say."""
    head, end, body = received.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if end and line.startswith(b"content-length:"):
            return len(body) >= int(line.partition(b":")[2])
    return False


def answer(received: bytes) -> tuple[str, str]:
    """Content type and body of an HTTP answer. ValueError: not HTTP, not 200, cut short, not UTF-8."""
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    if not lines[0].startswith("HTTP/1.") or lines[0].split(" ", 2)[1:2] != ["200"]:
        raise ValueError(f"not an answer: {lines[0][:40]!r}")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "content-length" in fields and len(body) < int(fields["content-length"]):
        raise ValueError("cut short")
    return fields.get("content-type", ""), body.decode("utf-8")


def metrics(content_type: str, body: str) -> dict[str, float]:
    """All finite numbers of a body by their names. ValueError: not a JSON object where it says JSON."""
    if "json" in content_type or body.lstrip().startswith("{"):
        found = msgspec.json.decode(body)  # its DecodeError is a ValueError
        if not isinstance(found, dict):
            raise ValueError("not an object")
        return _flat(found, "")
    return _lines(body)


def _flat(tree: dict[str, object], prefix: str) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            flat[prefix + name] = float(value)
    return flat


def _lines(text: str) -> dict[str, float]:
    """`name value`, as Prometheus has it too: `name{label="a b"} value [time]`, `#` for comments."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, brace, rest = line.partition("}")  # labels may hold spaces
        words = [name + brace, *rest.split()] if brace else line.split()
        value = _number(words[1]) if len(words) > 1 and not words[0].startswith("#") else None
        if value is not None:
            found[words[0].strip()] = value
    return found


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
