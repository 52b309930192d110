"""Parses the copy of a request into a kept request: heads into headers, bodies into text, cut to bounds. Removes no secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.kept_request import (
    BODY_MOST_BYTES,
    ERROR_MOST,
    HEAD_MOST,
    URL_MOST,
    Body,
    Headers,
    KeptRequest,
    Phases,
    RequestBrief,
    Why,
)
from .raw_request import RawRequest

_METHOD_MOST = 32


def whole(raw: RawRequest, why: Why) -> KeptRequest:
    """The kept request. Its `t_s` is `time.monotonic` at its start."""
    brief = RequestBrief(
        why=why,
        t_s=raw.began_s,
        level=raw.level,
        method=raw.method[:_METHOD_MOST],
        name=raw.name[:URL_MOST],
        status=raw.status,
        response_ms=raw.response_ms,
        error=raw.error[:ERROR_MOST],
        kind=raw.kind[:ERROR_MOST],
    )
    return KeptRequest(
        brief=brief,
        url=raw.url[:URL_MOST],
        sent_headers=_headers(raw.sent_head),
        sent=_sent(*raw.sent_body),
        phases=_phases(raw),
        headers=_headers(raw.head),
        received=_body(raw.body, raw.body_bytes),
    )


def _phases(raw: RawRequest) -> Phases:
    connect_ms = None if raw.connect_s is None else raw.connect_s * 1000
    if raw.first_s is None:
        return Phases(connect_ms=connect_ms, kept_connection=raw.kept_connection, to_head=raw.to_head)
    before_ms = connect_ms or 0.0
    first_ms = min(raw.first_s * 1000, raw.response_ms)
    has_ended = raw.status is not None
    return Phases(
        connect_ms=connect_ms,
        first_byte_ms=max(0.0, first_ms - before_ms),
        body_ms=raw.response_ms - first_ms if has_ended else None,
        kept_connection=raw.kept_connection,
        to_head=raw.to_head,
    )


def _headers(head: object) -> Headers:
    """The headers of a head (bytes or text) or a mapping, as many as fit into HEAD_MOST characters."""
    found, left = [], HEAD_MOST
    for name, value in _fields(head):
        left -= len(name) + len(value)
        if left < 0:
            found.append(("…", "further headers are left out"))
            break
        found.append((name, value))
    return tuple(found)


def _fields(head: object) -> Iterator[tuple[str, str]]:
    if isinstance(head, bytes):
        head = head.decode("latin-1")
    if isinstance(head, str):
        for line in head.splitlines()[1:]:
            name, sign, value = line.partition(":")
            if not sign:
                return  # the empty line, or one that is no header
            yield name.strip(), value.strip()
    elif isinstance(head, Mapping):
        for name, value in head.items():
            yield _text(name), _text(value)


def _text(value: object) -> str:
    """A header as text; of a value that is neither text nor bytes, the name of its type."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else f"({type(value).__name__})"


def _sent(beginning: str | bytes, length: int) -> Body:
    data = beginning.encode("utf-8", "replace") if isinstance(beginning, str) else beginning
    return _body(data, max(len(data), length))


def _body(data: bytes, size_bytes: int) -> Body:
    if not data:
        return Body(size_bytes=size_bytes)
    is_cut = size_bytes > BODY_MOST_BYTES
    text = data[:BODY_MOST_BYTES].decode("utf-8", "replace")
    if "\0" in text or text.count("\N{REPLACEMENT CHARACTER}") > max(2, len(text) // 10):
        return Body(size_bytes=size_bytes, is_cut=is_cut, is_binary=True)
    return Body(text=text, size_bytes=size_bytes, is_cut=is_cut)
