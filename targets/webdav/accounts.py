"""Accounts: names and password hashes, in a SQLite file, in memory or in PostgreSQL (`database.py`). Basic authentication
reads them at each request."""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
import threading
from pathlib import Path
from typing import Protocol


class Accounts(Protocol):
    """All methods may be called from many threads."""

    def create(self, name: str, password: str) -> bool:
        """Create an account; False if the name is taken."""

    def delete(self, name: str) -> bool:
        """Delete an account; False if there is no such account."""

    def check(self, name: str, password: str) -> bool:
        """Whether this is the account's password."""

    def names(self) -> list[str]:
        """All names."""


class MemoryAccounts:
    """A dictionary with a lock; its accounts are lost when the process ends."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._hashes: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def create(self, name: str, password: str) -> bool:
        hashed = hash_of(password, self._rounds)
        with self._lock:
            return self._hashes.setdefault(name, hashed) is hashed

    def delete(self, name: str) -> bool:
        with self._lock:
            return self._hashes.pop(name, None) is not None

    def check(self, name: str, password: str) -> bool:
        with self._lock:
            hashed = self._hashes.get(name)
        return hashed is not None and is_hash_of(hashed, password, self._rounds)

    def names(self) -> list[str]:
        with self._lock:
            return list(self._hashes)


class SqliteAccounts:
    """A SQLite file with one connection per thread. Writers wait for each other, and each account is synced to the disk."""

    def __init__(self, path: Path, rounds: int) -> None:
        self._path, self._rounds = path, rounds
        self._threads = threading.local()
        self._connection.execute("CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, hash BLOB NOT NULL)")

    @property
    def _connection(self) -> sqlite3.Connection:
        if not hasattr(self._threads, "connection"):
            self._threads.connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        connection: sqlite3.Connection = self._threads.connection
        return connection

    def create(self, name: str, password: str) -> bool:
        try:
            self._connection.execute("INSERT INTO accounts VALUES (?, ?)", (name, hash_of(password, self._rounds)))
        except sqlite3.IntegrityError:
            return False
        return True

    def delete(self, name: str) -> bool:
        return self._connection.execute("DELETE FROM accounts WHERE name = ?", (name,)).rowcount > 0

    def check(self, name: str, password: str) -> bool:
        row = self._connection.execute("SELECT hash FROM accounts WHERE name = ?", (name,)).fetchone()
        return row is not None and is_hash_of(row[0], password, self._rounds)

    def names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM accounts ORDER BY name")]


def hash_of(password: str, rounds: int) -> bytes:
    """Random salt of 16 bytes and PBKDF2-SHA256 hash of the password."""
    salt = os.urandom(16)
    return salt + hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)


def is_hash_of(hashed: bytes, password: str, rounds: int) -> bool:
    """Whether `hashed` is of that password; uses as much CPU as `hash_of`."""
    return hmac.compare_digest(hashed[16:], hashlib.pbkdf2_hmac("sha256", password.encode(), hashed[:16], rounds))
