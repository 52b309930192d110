"""The service in Python: a thread for each connection."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CAUSE, PER_S = os.environ["CAUSE"], float(os.environ["RATE"])
HOLDS_S = {"lock": {"/a": 0.02, "/b": 0.008}, "pool": {"/a": 0.08, "/b": 0.032}, "rate_limit": {"/a": 0.004, "/b": 0.002}}[CAUSE]
LOCK, POOL = threading.Lock(), threading.Semaphore(int(os.environ["POOL"]))
BURST = 6
released_s = 0.0


def hold(mean_s: float) -> None:
    time.sleep(mean_s * random.uniform(0.5, 1.5))


def delay() -> None:
    global released_s
    with LOCK:
        now_s = time.monotonic()
        released_s = max(released_s, now_s - (BURST - 1) / PER_S) + 1 / PER_S
        wait_s = released_s - 1 / PER_S - now_s
    time.sleep(max(0.0, wait_s))


def work(path: str) -> None:
    if CAUSE == "rate_limit":
        delay()
        hold(HOLDS_S[path])
    else:
        with LOCK if CAUSE == "lock" else POOL:
            hold(HOLDS_S[path])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path in HOLDS_S:
            work(self.path)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")

    def setup(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
