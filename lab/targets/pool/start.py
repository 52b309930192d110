"""Starts a service in place of this process: k requests at a time, each for s; the others wait. Files are written into FOLDER.

`python start.py SERVICE --port PORT --folder FOLDER --workers K --sleep-ms S [--at-s T] [--for-s D]`. Some services
change, T seconds after the first request.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import databases
import proxies

HERE = Path(__file__).resolve().parent
RESERVED = 3
"""PostgreSQL's default of superuser_reserved_connections."""


def main() -> None:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    figures = {"WORKERS": options.workers, "SLEEP_S": options.sleep_ms / 1000, "PORT": options.port}
    figures |= {"CONNECTIONS": options.connections, "SERVICE": options.service, "AT_S": options.at_s, "FOR_S": options.for_s}
    os.environ |= {name: str(value) for name, value in figures.items()}
    os.chdir(HERE)
    START[options.service](options)


def node(options: argparse.Namespace) -> None:
    """A semaphore in JavaScript."""
    os.execvp("node", ["node", "pool.js"])


def go(options: argparse.Namespace) -> None:
    """A channel of k tokens, and one of connections."""
    built = options.folder.resolve() / "pool"
    subprocess.run(["go", "build", "-o", str(built), "pool.go"], check=True)
    os.execv(built, [str(built)])


def java(options: argparse.Namespace) -> None:
    """A pool of k threads."""
    os.execvp("java", ["java", "Pool.java"])


def gunicorn(options: argparse.Namespace) -> None:
    """k processes that each serve one connection; the others wait to be accepted."""
    words = ["-m", "gunicorn", "--workers", str(options.workers), "--backlog", "2048", "--bind", f"127.0.0.1:{options.port}"]
    os.execv(sys.executable, [sys.executable, *words, "--log-level", "warning", "sleeping:app"])


def python(options: argparse.Namespace) -> None:
    """A class of apps.py, with the database that it needs."""
    if options.service == "postgresql-per-request":
        databases.postgresql(options.folder, max_connections=options.workers + RESERVED, superuser=False)
    elif options.service.startswith("postgresql"):
        databases.postgresql(options.folder)
    elif options.service == "redis":
        databases.redis(options.folder)
    words = ["-m", "uvicorn", "apps:app", "--port", str(options.port), "--no-access-log", "--log-level", "critical"]
    os.execv(sys.executable, [sys.executable, *words])


START: dict[str, Callable[[argparse.Namespace], None]] = {
    **{each.__name__: each for each in (node, go, java, gunicorn, proxies.nginx, proxies.haproxy, proxies.balancer)},
    **dict.fromkeys(("uvicorn", "redis", "postgresql-pool", "postgresql-row", "postgresql-leaking-pool"), python),
    **dict.fromkeys(("postgresql-held-row", "postgresql-per-request"), python),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service", choices=list(START))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--sleep-ms", type=float, required=True)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--at-s", type=float, default=0.0)
    parser.add_argument("--for-s", type=float, default=0.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
