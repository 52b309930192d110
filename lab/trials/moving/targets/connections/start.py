"""A service that opens a connection to PostgreSQL for each request, and replies 500 with PostgreSQL's error if there are too
many."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "services" / "targets" / "pool"))

import databases  # noqa: E402

RESERVED = 3
"""PostgreSQL's default of superuser_reserved_connections."""


def main() -> None:
    options = _options()
    databases.postgresql(options.folder, max_connections=options.connections + RESERVED, superuser=False)
    os.environ |= {"SLEEP_S": str(options.sleep_ms / 1000)}
    os.chdir(HERE)
    words = [
        "-m",
        "uvicorn",
        "connection_per_request:app",
        "--port",
        str(options.port),
        "--no-access-log",
        "--log-level",
        "critical",
    ]
    os.execv(sys.executable, [sys.executable, *words])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--sleep-ms", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
