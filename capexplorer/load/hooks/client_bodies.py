"""Bounds what FastHttpUser and HttpUser keep of a reply in memory (`bodies.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geventhttpclient.response import HTTPParseError

from ..bodies import CHUNK_BYTES, HEAD_MOST_BYTES, BodyTooLarge, body_limit, unpacked


def bounded_content(content: property) -> property:
    """HttpUser: bound `content`, which otherwise joins all decompressed parts of a reply."""
    whole: Any = content.fget

    def bounded(response: Any) -> Any:
        if response._content is False and not response._content_consumed and response.raw is not None and response.status_code:
            response._content = _joined(response, body_limit.most_bytes)
        return whole(response)

    return property(bounded, doc=content.__doc__)


def _joined(response: Any, most_bytes: int) -> bytes:
    body = bytearray()
    for part in response.iter_content(CHUNK_BYTES):
        body += part
        if len(body) > most_bytes:
            body.clear()
            response._content = b""
            response.close()
            raise BodyTooLarge(most_bytes)
    return bytes(body)


def bounded_head(feed: Callable[[Any, bytes], None]) -> Callable[[Any, bytes], None]:
    """FastHttpUser: bound the head. It joins a header's parts one by one: one of 10 MB would keep the load thread for 8 s."""

    def bounded(response: Any, data: bytes) -> None:
        feed(response, data)
        if not response.headers_complete:
            response.head_bytes = getattr(response, "head_bytes", 0) + len(data)
            if response.head_bytes > HEAD_MOST_BYTES:
                raise HTTPParseError(f"head larger than {HEAD_MOST_BYTES} bytes")

    return bounded


def bounded_buffer(take: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """FastHttpUser: bound the buffer of bytes that have arrived and were not read yet, which reading in parts empties."""

    def bounded(response: Any, part: Any) -> None:
        take(response, part)
        if len(response._body_buffer) > body_limit.most_bytes:
            del response._body_buffer[:]
            raise BodyTooLarge(body_limit.most_bytes)

    return bounded


def bounded_unpacking(_: object) -> Callable[[Any], bytes]:
    """FastHttpUser: bound the decompressed body, since 300 KB of gzip may become 300 MB. An encoding that it does not know is no
    failure: user code has the body as it was sent, as with the other clients."""

    def content(response: Any) -> bytes:
        encoding = ",".join(response.headers.getlist("content-encoding"))
        body = unpacked(response._response.read(), encoding.lower(), body_limit.most_bytes)
        response.release()
        return body

    return content


def read_without_text(_: object) -> staticmethod[..., str]:
    """FastHttpUser: in place of a text for debugging of each failed request, which decodes the body as UTF-8, and raises if it is
    not.
    """

    def conversation(url: str, response: Any, **_: Any) -> str:
        response.content  # noqa: B018 - read while the connection is open
        return ""

    return staticmethod(conversation)
