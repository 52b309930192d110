"""A WSGI application that sleeps for each request; its server determines how many it serves at a time."""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

SLEEP_S = float(os.environ.get("SLEEP_S", "0.1"))


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    if environ["PATH_INFO"] == "/work":
        time.sleep(SLEEP_S)
    start_response("200 OK", [("Content-Length", "3")])
    return [b"ok\n"]
