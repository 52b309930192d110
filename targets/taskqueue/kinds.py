"""The two kinds of task: one computes, one waits for a page that this service itself serves."""

from __future__ import annotations

import http.client
import os
from typing import Any

FETCH_TIMEOUT_S = 10.0
"""Without a timeout a fetch would wait for ever if the service has no descriptor left to accept its connection."""


def factorial(n: int) -> dict[str, Any]:
    """n! by a loop. `math.factorial` would hold the GIL all the time and stall every HTTP reply."""
    product = 1
    for factor in range(2, n + 1):
        product *= factor
    return {"n": n, "bits": product.bit_length(), "checksum": product % (2**61 - 1)}


def http_fetch(port: int, path: str, *, leak: bool) -> dict[str, Any]:
    """GET a page from loopback. `leak`: never close a descriptor of the connection, like code that does not close responses."""
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
