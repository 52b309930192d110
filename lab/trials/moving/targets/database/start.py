"""A service in front of a PostgreSQL of its own, in place of this process. It changes --at-s after the first request."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
POOL = HERE.parents[2] / "services" / "targets" / "pool"
"""Has the ASGI application and the start of PostgreSQL."""
sys.path.insert(0, str(POOL))

import databases  # noqa: E402


def main() -> None:
    options = _options()
    databases.postgresql(options.folder)
    os.environ |= {
        "PYTHONPATH": str(POOL),
        "WORKERS": str(options.connections),
        "SLEEP_S": str(options.hold_ms / 1000),
        "AT_S": str(options.at_s),
        "FOR_S": str(options.for_s),
    }
    os.chdir(HERE)
    words = ["-m", "uvicorn", f"{options.service}:app", "--port", str(options.port), "--no-access-log", "--log-level", "warning"]
    os.execv(sys.executable, [sys.executable, *words])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service", choices=("row_lock", "leaking_pool"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--hold-ms", type=float, required=True)
    parser.add_argument("--at-s", type=float, required=True)
    parser.add_argument("--for-s", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
