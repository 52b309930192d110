"""Makes a reply that ends within its headers a failure.

The standard library takes the end of the stream for the end of the headers, so HttpUser would count such a reply as a success,
without a body if Content-Length was among the missing headers.
"""

from __future__ import annotations

import http.client
from typing import Any

import gevent.pywsgi  # noqa: F401  reads headers of no bytes as it is imported, which the hook below would refuse


def install() -> None:
    """Hook the reading of headers. Call once, and only in a process that makes load."""
    read_headers = http.client._read_headers  # type: ignore[attr-defined]

    def read_whole_headers(stream: Any, *args: Any) -> list[bytes]:
        lines: list[bytes] = read_headers(stream, *args)
        if not lines[-1]:  # an empty line is b"\r\n"; b"" is the end of the stream
            raise http.client.IncompleteRead(b"".join(lines))
        return lines

    http.client._read_headers = read_whole_headers  # type: ignore[attr-defined]
