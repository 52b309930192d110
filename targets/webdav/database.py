"""PostgreSQL of one session, a child process of the service, and the accounts in it.

The server listens on loopback, with a password of its own. Its data is in the service's folder, so that a restarted service
finds its accounts. It ends with the service, even if that is killed. PostgreSQL refuses to run as root; then it runs in a user
namespace in which it is nobody, without privileges, but owns its files.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
from accounts import hash_of, is_hash_of

READY_S = 30.0
SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "jit=off",
    "shared_buffers=32MB",
    "dynamic_shared_memory_type=mmap",
)


def start(folder: Path) -> str:
    """Start a server on the cluster in `folder`, which is created if it does not exist. Returns its connection string.

    Ends the process with one line if PostgreSQL is not installed or does not start.
    """
    programs = max(Path("/usr/lib/postgresql").glob("*/bin/postgres"), default=None)
    if programs is None:
        sys.exit("store=postgresql: PostgreSQL is not installed (Debian: apt-get install postgresql)")
    password, data, port = folder / "password", folder / "data", _free_port()
    as_nobody = ["unshare", "--user"] if os.geteuid() == 0 else []
    if not data.exists():
        folder.mkdir(parents=True)
        password.write_text(secrets.token_urlsafe())
        cluster = ["-D", str(data), "-U", "webdav", "-A", "scram-sha-256", f"--pwfile={password}", "--no-sync"]
        subprocess.run([*as_nobody, str(programs.with_name("initdb")), *cluster], check=True, stdout=subprocess.DEVNULL)
    options = [word for setting in (*SETTINGS, f"port={port}") for word in ("-c", setting)]
    server = subprocess.Popen([*as_nobody, "setpriv", "--pdeathsig", "INT", str(programs), "-D", str(data), *options])
    dsn = f"host=127.0.0.1 port={port} dbname=postgres user=webdav password={password.read_text()}"
    _wait_for(dsn, server)
    return dsn


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(dsn: str, server: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + READY_S
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline_s:
                sys.exit(f"store=postgresql: the server does not start: {error}")
            time.sleep(0.05)


class PostgresAccounts:
    """A table in PostgreSQL with one connection per thread. Each account is synced to the disk."""

    def __init__(self, dsn: str, rounds: int) -> None:
        self._dsn, self._rounds = dsn, rounds
        self._threads = threading.local()
        self._connection.execute("CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, hash BYTEA NOT NULL)")

    @property
    def _connection(self) -> psycopg.Connection[tuple[object, ...]]:
        if not hasattr(self._threads, "connection"):
            self._threads.connection = psycopg.connect(self._dsn, autocommit=True)
        connection: psycopg.Connection[tuple[object, ...]] = self._threads.connection
        return connection

    def create(self, name: str, password: str) -> bool:
        """See `Accounts`."""
        hashed = hash_of(password, self._rounds)
        return (
            self._connection.execute("INSERT INTO accounts VALUES (%s, %s) ON CONFLICT DO NOTHING", (name, hashed)).rowcount > 0
        )

    def delete(self, name: str) -> bool:
        """See `Accounts`."""
        return self._connection.execute("DELETE FROM accounts WHERE name = %s", (name,)).rowcount > 0

    def check(self, name: str, password: str) -> bool:
        """See `Accounts`."""
        row = self._connection.execute("SELECT hash FROM accounts WHERE name = %s", (name,)).fetchone()
        return row is not None and is_hash_of(bytes(row[0]), password, self._rounds)  # type: ignore[call-overload]

    def names(self) -> list[str]:
        """See `Accounts`."""
        return [str(row[0]) for row in self._connection.execute('SELECT name FROM accounts ORDER BY name COLLATE "C"')]
