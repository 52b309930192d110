"""Limits how much of a reply the clients keep in memory, before and after decompression.

A body over the bound is a failure, BodyTooLarge, and its connection is closed. The part already read is released first: an
exception keeps the variables of its frames until the collector finds it, which may be many bodies later. User code that asks for
`stream=True` and reads in parts has no bound: nothing of it is kept here.
"""

from __future__ import annotations

import zlib
from typing import Any

import brotli
import msgspec
from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser
from requests.exceptions import RequestException

from ..profile import MAX_BODY_MB

# -- endings -------------------------------------------------------------------------------------------------------------------
# How a request or a task ends by an exception.


LEAVING = (InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser)
"""Exceptions by which user code ends a task early; they are no failures."""


class UnusableReply(RequestException):
    """A reply led to an exception that its client does not expect. `args`: that exception. All clients report it as a failure."""


CHUNK_BYTES = 65_536
_TRUNCATED = "Error -5 while decompressing data: incomplete or truncated stream"
HEAD_MOST_BYTES = 65_536
"""Most bytes of a head; http.client limits a single line to as much."""


class BodyLimit(msgspec.Struct):
    """The limit on a reply's decompressed body, for the life of the process."""

    most_bytes: int = int(MAX_BODY_MB * 1e6)


body_limit = BodyLimit()


class BodyTooLarge(RequestException):
    """A reply's decompressed body exceeds the limit. Both clients report it as a failed request."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"body larger than {most_bytes / 1e6:g} MB")


def unpacked(body: bytes, encodings: str, most_bytes: int) -> bytes:
    """A whole body, decompressed. With an unknown encoding it stays as it is. Raises BodyTooLarge, zlib.error.

    `encodings`: separated by commas, in the order in which the service applied them, in lower case.
    """
    for encoding in reversed(encodings.split(",")) if encodings else ():
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


class Unpacking:
    """A body that is decompressed as it arrives. With an unknown encoding it stays as it is."""

    def __init__(self, encodings: str) -> None:
        """`encodings`: as of `unpacked`."""
        self._decoders = [_decoder(encoding.strip()) for encoding in reversed(encodings.split(","))]

    def take(self, piece: bytes) -> bytes:
        """What these bytes become. Raises BodyTooLarge if it is more than the limit of a whole body, zlib.error."""
        for decoder in self._decoders:
            piece = decoder.take(piece) if decoder is not None and piece else piece
            if len(piece) > body_limit.most_bytes:
                raise BodyTooLarge(body_limit.most_bytes)
        return piece

    def end(self) -> None:
        """Raises zlib.error if the end is missing."""
        if not all(decoder is None or decoder.is_whole() for decoder in self._decoders):
            raise zlib.error(_TRUNCATED)


def _decoder(encoding: str) -> _Inflating | _Unbrotling | None:
    if encoding == "br":
        return _Unbrotling()
    return _Inflating(encoding) if encoding in ("gzip", "x-gzip", "deflate") else None


class _Inflating:
    def __init__(self, encoding: str) -> None:
        self._is_gzip = encoding != "deflate"
        self._unzip: Any = None

    def take(self, piece: bytes) -> bytes:
        if self._unzip is None:  # servers send deflate with or without a zlib header, whose first byte ends with an 8
            bits = 16 + zlib.MAX_WBITS if self._is_gzip else zlib.MAX_WBITS if piece[0] & 15 == 8 else -zlib.MAX_WBITS
            self._unzip = zlib.decompressobj(bits)
        found: bytes = self._unzip.decompress(piece, body_limit.most_bytes + 1)
        return found

    def is_whole(self) -> bool:
        return self._unzip is None or bool(self._unzip.eof)


class _Unbrotling:
    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self._has_begun = False

    def take(self, piece: bytes) -> bytes:
        self._has_begun = True
        try:
            found: bytes = self._decoder.process(piece, output_buffer_limit=body_limit.most_bytes + 1)
        except brotli.error as error:
            raise zlib.error(str(error)) from error
        return found

    def is_whole(self) -> bool:
        return not self._has_begun or bool(self._decoder.is_finished())


def _inflated(body: bytes, bits: int, most_bytes: int) -> bytes:
    unzip = zlib.decompressobj(bits)
    found = unzip.decompress(body, most_bytes + 1)
    if len(found) > most_bytes:
        del found
        raise BodyTooLarge(most_bytes)
    if not unzip.eof:
        raise zlib.error(_TRUNCATED)
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
