"""The service of the trial: HTTP in front of PostgreSQL; `--act` selects what a request does. Standard library and psycopg."""

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
idle_connections: list[psycopg.Connection] = []
"""Connections to PostgreSQL that no request uses."""


def idle_connection() -> psycopg.Connection:
    with suppress(IndexError):
        return idle_connections.pop()
    return new_connection()


def new_connection() -> psycopg.Connection:
    """A new connection; tries again as long as PostgreSQL refuses it."""
    while True:
        try:
            return psycopg.connect(options.database, autocommit=True, connect_timeout=10)
        except psycopg.OperationalError:
            time.sleep(0.3)


def execute(*statements: str) -> None:
    """Execute statements, each a transaction, on one connection, which is idle afterwards."""
    connection = idle_connection()
    for statement in statements:
        connection.execute(statement)
    idle_connections.append(connection)


def act() -> bytes:
    match options.act:
        case "query":
            execute("SELECT 1")
        case "burn":
            sum(i * i for i in range(options.amount))
        case "compute":
            execute(f"SELECT sum(sqrt(i)) FROM generate_series(1, {options.amount}) AS i")
        case "large":
            return LARGE
        case "sleep" | "workers":
            time.sleep(options.amount / 1000)
        case "lock":
            with lock:
                time.sleep(options.amount / 1000)
        case "pooled":
            with pool:
                execute(f"SELECT pg_sleep({options.amount / 1000})")
        case "connect":
            with new_connection() as connection:
                connection.execute(f"SELECT pg_sleep({options.amount / 1000})")
        case "store":
            with open("journal", "ab", buffering=0) as journal:
                journal.write(bytes(4096))
        case "insert":
            execute("INSERT INTO orders SELECT repeat('x', 4000)")
        case "update":
            execute(f"UPDATE stock SET left_over = left_over + 1 WHERE pg_sleep({options.amount / 1000}) IS NOT NULL")
    return b"done\n"


class Handler(BaseHTTPRequestHandler):
    """Answers each GET after the act, with 500 if that failed."""

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
    """One thread per connection. Waits for 50 ms if no descriptor is left to accept a connection."""

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
options = parser.parse_args()
LARGE = random.Random(1).randbytes(options.amount // 2).hex().encode() if options.act == "large" else b""
if options.open_files:
    resource.setrlimit(resource.RLIMIT_NOFILE, (options.open_files, options.open_files))
print(os.getpid(), flush=True)
kind = Workers if options.act == "workers" else Service
kind.request_queue_size = options.backlog
kind((options.address, options.port), Handler).serve_forever()
