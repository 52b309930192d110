"""Serves app.py on loopback with one of three servers, so that the effect of their settings on capacity can be explored."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

CONNECTIONS = 10_000
"""waitress accepts 100 connections by default, which would be the knee of every exploration with keep-alive."""

BACKLOG = 1024


def main() -> None:
    options = _options()
    {"waitress": with_waitress, "flask": with_flask, "gunicorn": with_gunicorn}[options.server](options)


def with_waitress(options: argparse.Namespace) -> None:
    import waitress
    from app import create_app

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else it logs a line for each request that has to wait
    waitress.serve(
        create_app(options.cpu_work, options.io_ms),
        host="127.0.0.1",
        port=options.port,
        threads=options.threads,
        connection_limit=CONNECTIONS,
        backlog=BACKLOG,
        asyncore_use_poll=True,  # select() refuses descriptors from 1024 on
    )


def with_flask(options: argparse.Namespace) -> None:
    """Flask's development server: one thread for each connection; `threads` has no effect."""
    from app import create_app

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # else it logs a line for each request
    create_app(options.cpu_work, options.io_ms).run("127.0.0.1", options.port, threaded=True)


def with_gunicorn(options: argparse.Namespace) -> None:
    """gunicorn, which uses its worker class `sync` with one thread (connections wait to be accepted) and `gthread` with more."""
    settings = {
        "bind": f"127.0.0.1:{options.port}",
        "workers": options.workers,
        "threads": options.threads,
        "worker-connections": CONNECTIONS,
        "backlog": BACKLOG,
        "keep-alive": 75,  # seconds; its default of 2 closes connections that a user is about to use
        "graceful-timeout": 1,  # else it waits for idle keep-alive connections
        "chdir": Path(__file__).parent,
    }
    arguments = [f"--{name}={value}" for name, value in settings.items()]
    application = f"app:create_app({options.cpu_work}, {options.io_ms})"
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "--no-control-socket", *arguments, application])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=["waitress", "flask", "gunicorn"], default="waitress")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=32, help="threads of each process")
    parser.add_argument("--workers", type=int, default=2, help="processes; gunicorn only")
    parser.add_argument("--cpu-work", type=int, default=500_000, help="turns of the loop behind /cpu")
    parser.add_argument("--io-ms", type=float, default=200.0, help="how long /io blocks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
