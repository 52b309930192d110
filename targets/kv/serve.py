"""Serves the key-value store on loopback by a pool of threads."""

from __future__ import annotations

import argparse
import logging

import waitress
from app import create_app
from stores import STORES

CONNECTIONS = 10_000
"""waitress accepts 100 connections by default, which would be the knee of every exploration with keep-alive."""

BACKLOG = 1024


def main() -> None:
    options = _options()
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else it logs a line for each request that has to wait
    waitress.serve(
        create_app(STORES[options.store](), options.burst),
        host="127.0.0.1",
        port=options.port,
        threads=options.threads,
        connection_limit=CONNECTIONS,
        backlog=BACKLOG,
        asyncore_use_poll=True,  # select() refuses descriptors from 1024 on
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--store", choices=list(STORES), default="lock")
    parser.add_argument("--burst", type=int, default=1, help="reads or writes of its key that one request makes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
