"""The service of the trial: HTTP before PostgreSQL, with one act a run. Standard library and psycopg."""

from __future__ import annotations

import argparse
import os
import random
import resource
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

import psycopg

lock, pool = threading.Lock(), threading.BoundedSemaphore(4)
mine = threading.local()
kept: list[psycopg.Connection] = []
"""Connections that wait for the next request."""


def connection() -> psycopg.Connection:
    """One that is kept, or a new one; PostgreSQL may refuse it for a while."""
    with suppress(IndexError):
        return kept.pop()
    return new_connection()


def new_connection() -> psycopg.Connection:
    """Tried again until there is one."""
    while True:
        try:
            return psycopg.connect(ask.database, autocommit=True, connect_timeout=10)
        except psycopg.OperationalError:
            time.sleep(0.3)


def execute(*statements: str) -> None:
    """Statements, each a transaction, on a kept connection."""
    link = connection()
    for statement in statements:
        link.execute(statement)
    kept.append(link)


def act() -> bytes:
    """What a request does; the body of its reply."""
    match ask.act:
        case "query":
            execute("SELECT 1")
        case "burn":
            sum(i * i for i in range(ask.amount))
        case "compute":
            execute(f"SELECT sum(sqrt(i)) FROM generate_series(1, {ask.amount}) AS i")
        case "large":
            return LARGE
        case "sleep" | "workers":
            time.sleep(ask.amount / 1000)
        case "lock":
            with lock:
                time.sleep(ask.amount / 1000)
        case "pooled":
            with pool:
                execute(f"SELECT pg_sleep({ask.amount / 1000})")
        case "connect":
            with new_connection() as link:
                link.execute(f"SELECT pg_sleep({ask.amount / 1000})")
        case "store":
            with open("journal", "ab", buffering=0) as journal:
                journal.write(bytes(4096))
        case "insert":
            execute("INSERT INTO orders SELECT repeat('x', 4000)")
        case "update":
            execute(f"UPDATE stock SET left_over = left_over + 1 WHERE pg_sleep({ask.amount / 1000}) IS NOT NULL")
    return b"done\n"


class Handler(BaseHTTPRequestHandler):
    """Any GET."""

    def do_GET(self) -> None:
        try:
            status, body = 200, act()
        except (OSError, psycopg.Error):
            status, body = 500, b"failed\n"
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Service(ThreadingHTTPServer):
    """Waits a moment where no descriptor is left."""

    daemon_threads = True

    def get_request(self) -> tuple[socket.socket, object]:
        try:
            return super().get_request()
        except OSError:
            time.sleep(0.05)
            raise


class Workers(HTTPServer):
    """Like gunicorn's sync workers: each accepts a connection when it has finished the one before."""

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        workers = [threading.Thread(target=self._work) for _ in range(4)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()

    def _work(self) -> None:
        while True:
            request, address = self.socket.accept()
            with suppress(OSError):
                self.finish_request(request, address)
            self.shutdown_request(request)


parser = argparse.ArgumentParser()
parser.add_argument("--address", required=True)
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--database", required=True)
parser.add_argument("--act", default="query")
parser.add_argument("--amount", type=int, default=0)
parser.add_argument("--open-files", type=int, default=0)
parser.add_argument("--backlog", type=int, default=256)
ask = parser.parse_args()
LARGE = random.Random(1).randbytes(ask.amount // 2).hex().encode() if ask.act == "large" else b""
if ask.open_files:
    resource.setrlimit(resource.RLIMIT_NOFILE, (ask.open_files, ask.open_files))
print(os.getpid(), flush=True)
kind = Workers if ask.act == "workers" else Service
kind.request_queue_size = ask.backlog
kind((ask.address, ask.port), Handler).serve_forever()
