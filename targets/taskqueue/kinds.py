"""What the two kinds of task do: one computes, one waits for a page that this service serves itself."""

from __future__ import annotations

import http.client
import os
from typing import Any

FETCH_TIMEOUT_S = 10.0
"""When the service has no descriptor left to accept with, a fetch from itself would wait for ever."""


def factorial(n: int) -> dict[str, Any]:
    """n! by a loop, not by `math.factorial`, which would keep the GIL from first to last and so stall every HTTP reply."""
    product = 1
    for factor in range(2, n + 1):
        product *= factor
    return {"n": n, "bits": product.bit_length(), "checksum": product % (2**61 - 1)}


def http_fetch(port: int, path: str, *, leak: bool) -> dict[str, Any]:
    """GET a page from loopback. `leak`: keep a descriptor of the connection for ever, as code that closes no response does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=FETCH_TIMEOUT_S)
    try:
        connection.connect()
        if leak:
            os.dup(connection.sock.fileno())
        connection.request("GET", path, headers={"Connection": "close"})
        response = connection.getresponse()
        return {"status": response.status, "bytes": len(response.read())}
    finally:
        connection.close()
