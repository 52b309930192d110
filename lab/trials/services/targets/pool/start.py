"""Starts one of ten services of known capacity in place of this process: k requests at a time, each for s; the others wait.

`python start.py SERVICE --port PORT --folder FOLDER --workers K --sleep-ms S`. Files are written into FOLDER.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import databases
from proxies import haproxy, nginx

HERE = Path(__file__).resolve().parent


def main() -> None:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"WORKERS": str(options.workers), "SLEEP_S": str(options.sleep_ms / 1000), "PORT": str(options.port)}
    os.chdir(HERE)
    _START[options.service](options)


def node(options: argparse.Namespace) -> None:
    """A semaphore in JavaScript."""
    os.execvp("node", ["node", "pool.js"])


def go(options: argparse.Namespace) -> None:
    """A channel of k tokens."""
    built = options.folder.resolve() / "pool"
    subprocess.run(["go", "build", "-o", str(built), "pool.go"], check=True)
    os.execv(built, [str(built)])


def java(options: argparse.Namespace) -> None:
    """A pool of k threads."""
    os.execvp("java", ["java", "Pool.java"])


def uvicorn(options: argparse.Namespace) -> None:
    """An asyncio semaphore."""
    _asgi("semaphore:app", options)


def gunicorn(options: argparse.Namespace) -> None:
    """k processes that each serve one connection; the others wait to be accepted."""
    words = ["-m", "gunicorn", "--workers", str(options.workers), "--backlog", "2048", "--bind", f"127.0.0.1:{options.port}"]
    os.execv(sys.executable, [sys.executable, *words, "--log-level", "warning", "sleeping:app"])


def postgresql_pool(options: argparse.Namespace) -> None:
    """A pool of k connections to PostgreSQL, in which requests sleep."""
    databases.postgresql(options.folder)
    _asgi("connection_pool:app", options)


def postgresql_row(options: argparse.Namespace) -> None:
    """One row of PostgreSQL, whose lock each request keeps for s."""
    databases.postgresql(options.folder)
    _asgi("row_lock:app", options)


def redis(options: argparse.Namespace) -> None:
    """k tokens in a list of Redis."""
    databases.redis(options.folder)
    _asgi("tokens:app", options)


def _asgi(app: str, options: argparse.Namespace) -> None:
    words = ["-m", "uvicorn", app, "--port", str(options.port), "--no-access-log", "--log-level", "warning"]
    os.execv(sys.executable, [sys.executable, *words])


_START = {
    "node": node,
    "go": go,
    "java": java,
    "uvicorn": uvicorn,
    "gunicorn": gunicorn,
    "postgresql-pool": postgresql_pool,
    "postgresql-row": postgresql_row,
    "redis": redis,
    "nginx": nginx,
    "haproxy": haproxy,
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service", choices=list(_START))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--sleep-ms", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
