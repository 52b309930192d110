"""Limits how much of a reply the clients keep in memory, before and after decompression.

A body over the bound is a failure, BodyTooLarge, and its connection is closed. The part already read is released first: an
exception keeps the variables of its frames until the collector finds it, which may be many bodies later. User code that asks for
`stream=True` and reads in parts has no bound: nothing of it is kept here.
"""

from __future__ import annotations

import zlib

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
