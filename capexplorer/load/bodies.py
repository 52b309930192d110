"""Limits how much of a reply the clients keep in memory, before and after decompression.

A body over the bound is a failure, BodyTooLarge, and its connection is closed. The part already read is released first: an
exception keeps the variables of its frames until the collector finds it, which may be many bodies later. User code that asks for
`stream=True` and reads in parts has no bound: nothing of it is kept here.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import brotli
import geventhttpclient.response
import geventhttpclient.useragent
import requests.models
from requests.exceptions import RequestException

from ..profile import MAX_BODY_MB

CHUNK_BYTES = 65_536
HEAD_MOST_BYTES = 65_536
"""Most bytes of a head; http.client limits a single line to as much."""


@dataclass(slots=True)
class BodyLimit:
    """The limit on a reply's decompressed body, for the life of the process."""

    most_bytes: int = int(MAX_BODY_MB * 1e6)


body_limit = BodyLimit()


class BodyTooLarge(RequestException):
    """A reply's decompressed body exceeds the limit. Both clients report it as a failed request."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"body larger than {most_bytes / 1e6:g} MB")


def install(most_bytes: int) -> None:
    """Limit the size of a reply in all clients. Call once per process."""
    body_limit.most_bytes = most_bytes  # for the lean client
    _bound_requests(most_bytes)
    _bound_head()
    _bound_buffer(most_bytes)
    _unpack_bounded(most_bytes)


def _bound_requests(most_bytes: int) -> None:
    """HttpUser: bound `content`, which otherwise joins all decompressed parts of a reply."""
    kind: Any = requests.models.Response
    whole = kind.content.fget

    def bounded(response: Any) -> Any:
        if response._content is False and not response._content_consumed and response.raw is not None and response.status_code:
            response._content = _joined(response, most_bytes)
        return whole(response)

    kind.content = property(bounded, doc=kind.content.__doc__)


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


def _bound_head() -> None:
    """FastHttpUser: bound the head. It joins a header's parts one by one: one of 10 MB would keep the load thread for 8 s."""
    kind: Any = geventhttpclient.response.HTTPResponse
    feed = kind.feed

    def bounded(response: Any, data: bytes) -> None:
        feed(response, data)
        if not response.headers_complete:
            response.head_bytes = getattr(response, "head_bytes", 0) + len(data)
            if response.head_bytes > HEAD_MOST_BYTES:
                raise geventhttpclient.response.HTTPParseError(f"head larger than {HEAD_MOST_BYTES} bytes")

    kind.feed = bounded


def _bound_buffer(most_bytes: int) -> None:
    """FastHttpUser: bound the buffer of bytes that have arrived and were not read yet, which reading in parts empties."""
    kind: Any = geventhttpclient.response.HTTPResponse
    take = kind._on_body

    def bounded(response: Any, part: Any) -> None:
        take(response, part)
        if len(response._body_buffer) > most_bytes:
            del response._body_buffer[:]
            raise BodyTooLarge(most_bytes)

    kind._on_body = bounded


def _unpack_bounded(most_bytes: int) -> None:
    """FastHttpUser: bound the decompressed body, since 300 KB of gzip may become 300 MB. An encoding that it does not know is no
    failure: user code has the body as it was sent, as with the other clients."""
    kind: Any = geventhttpclient.useragent.CompatResponse
    agent: Any = geventhttpclient.useragent.UserAgent

    def content(response: Any) -> bytes:
        encoding = ",".join(response.headers.getlist("content-encoding"))
        body = unpacked(response._response.read(), encoding.lower(), most_bytes)
        response.release()
        return body

    def conversation(url: str, response: Any, **_: Any) -> str:
        """In place of a text for debugging of each failed request: it decodes the body as UTF-8, and raises if it is not."""
        response.content  # noqa: B018 - read while the connection is open
        return ""

    kind._content, agent._conversation_str = content, staticmethod(conversation)


def unpacked(body: bytes, encodings: str, most_bytes: int) -> bytes:
    """A whole body, decompressed. With an unknown encoding it stays as it is. Raises BodyTooLarge, zlib.error.

    `encodings`: separated by commas, in the order in which the service applied them, in lower case.
    """
    for encoding in reversed(encodings.split(",")):
        body = _unpacked(body, encoding.strip(), most_bytes) if body else body
    return body


def _unpacked(body: bytes, encoding: str, most_bytes: int) -> bytes:
    match encoding:
        case "gzip" | "x-gzip":
            return _inflated(body, 16 + zlib.MAX_WBITS, most_bytes)
        case "br":
            try:
                return _unbrotlied(body, most_bytes)
            except brotli.error as error:
                raise zlib.error(str(error)) from error
        case "deflate":
            try:  # servers send deflate with or without a zlib header
                return _inflated(body, -zlib.MAX_WBITS, most_bytes)
            except zlib.error:
                return _inflated(body, zlib.MAX_WBITS, most_bytes)
    return body


def _inflated(body: bytes, bits: int, most_bytes: int) -> bytes:
    unzip = zlib.decompressobj(bits)
    found = unzip.decompress(body, most_bytes + 1)
    if len(found) > most_bytes:
        del found
        raise BodyTooLarge(most_bytes)
    if not unzip.eof:
        raise zlib.error("Error -5 while decompressing data: incomplete or truncated stream")
    return found


def _unbrotlied(body: bytes, most_bytes: int) -> bytes:
    decoder, found = brotli.Decompressor(), bytearray()
    part = decoder.process(body, output_buffer_limit=CHUNK_BYTES)
    while part or not (decoder.is_finished() or decoder.can_accept_more_data()):
        found += part
        if len(found) > most_bytes:
            found.clear()
            raise BodyTooLarge(most_bytes)
        part = decoder.process(b"", output_buffer_limit=CHUNK_BYTES)
    if not decoder.is_finished():
        raise brotli.error("brotli: the stream is cut short")
    return bytes(found)
