"""A service in Python whose requests do some work, and wait for one cause that is planted between two comments.

`python serve.py CAUSE PORT`: a thread for each connection.
"""

from __future__ import annotations

import json
import os
import queue
import re
import sqlite3
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ITEMS = [{"id": number, "name": f"item {number}", "price": number * 7 % 100} for number in range(60)]
_lock = threading.Lock()
_local = threading.local()


def authenticate(token: str) -> bool:
    time.sleep(0.002)  # another service
    return sum(ord(letter) for letter in token) % 2 == 0


def render(found: Any) -> bytes:
    return json.dumps({"items": ITEMS[:20], "found": str(found)}).encode()


# planted lock
def count_visit() -> int:
    with _lock:
        time.sleep(0.008)
        return 1


# end


class Pool:
    """Three connections."""

    def __init__(self) -> None:
        self._free: queue.Queue[int] = queue.Queue()
        for number in range(3):
            self._free.put(number)

    # planted pool
    def acquire(self) -> int:
        return self._free.get()

    # end

    def query(self) -> int:
        connection = self.acquire()
        try:
            time.sleep(0.02)
            return connection
        finally:
            self._free.put(connection)


# planted gil
def score(items: list[dict[str, Any]]) -> int:
    total = 0
    for weight in range(1500):
        for item in items:
            total += item["price"] * weight % 13
    return total


# end


# planted regex
def is_mail(text: str) -> bool:
    return re.match(r"^([a-z0-9]+)+@", text) is not None


# end


def database() -> sqlite3.Connection:
    if not hasattr(_local, "connection"):
        _local.connection = sqlite3.connect(":memory:")
        _local.connection.execute("create table price (item integer, cents integer)")
        _local.connection.executemany("insert into price values (?, ?)", [(number % 997, number) for number in range(3000)])
    connection: sqlite3.Connection = _local.connection
    return connection


# planted queries
def prices() -> int:
    total = 0
    for item in ITEMS:
        total += database().execute("select sum(cents) from price where item = ?", (item["id"],)).fetchone()[0]
    return total


# end


def orders() -> Any:
    if not hasattr(_local, "orders"):
        import psycopg

        _local.orders = psycopg.connect(os.environ["DSN"])
    return _local.orders


class Turns:
    """Two at a time, by a condition."""

    def __init__(self) -> None:
        self._condition, self._inside = threading.Condition(), 0

    # planted condition
    def enter(self) -> None:
        with self._condition:
            while self._inside == 2:
                self._condition.wait()
            self._inside += 1

    # end

    def leave(self) -> None:
        with self._condition:
            self._inside -= 1
            self._condition.notify()

    def take(self) -> None:
        self.enter()
        try:
            self.transform()
        finally:
            self.leave()

    def transform(self) -> None:
        time.sleep(0.015)


# planted sort
def rank() -> int:
    return len(sorted(ITEMS * 400, key=lambda item: (item["name"][::-1], -item["price"])))


# end


# planted parse
def parse_order() -> int:
    return len(json.loads(json.dumps({"lines": ITEMS * 30})))


# end


TWO = threading.BoundedSemaphore(2)


# planted semaphore
def reserve() -> None:
    with TWO:
        time.sleep(0.014)


# end

PAGE = json.dumps(ITEMS * 300).encode()


# planted compress
def pack() -> int:
    return len(zlib.compress(PAGE, 9))


# end


# planted row
def place_order() -> None:
    with orders().transaction():
        orders().execute("update counter set n = n + 1 where id = 1")
        orders().execute("select pg_sleep(0.008)")


# end


CAUSES = {
    "lock": count_visit,
    "pool": Pool().query,
    "gil": lambda: score(ITEMS),
    "regex": lambda: is_mail("a" * 17 + "!"),
    "queries": prices,
    "row": place_order,
    "condition": Turns().take,
    "sort": rank,
    "parse": parse_order,
    "semaphore": reserve,
    "compress": pack,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = None
        if self.path != "/health":
            authenticate(self.headers.get("User-Agent", ""))
            found = CAUSES[sys.argv[1]]()
        body = render(found)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
