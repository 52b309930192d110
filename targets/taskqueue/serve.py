"""Serves the task queue on loopback, in one process: a pool of threads for HTTP, another one for tasks."""

from __future__ import annotations

import argparse
import logging
from functools import partial
from pathlib import Path

import waitress
from app import PAGE, create_app
from kinds import factorial, http_fetch
from queueing import TaskQueue
from tasks import TaskFolder

CONNECTIONS = 10_000
"""waitress accepts 100 connections by default, which would be the knee of every exploration with keep-alive."""

BACKLOG = 1024


def main() -> None:
    options = _options()
    kinds = {
        "factorial": partial(factorial, options.factorial_n),
        "http-fetch": partial(http_fetch, options.port, PAGE, leak=options.fd_leak == "true"),
    }
    queue = TaskQueue(TaskFolder(Path(options.data or options.folder) / "tasks"), kinds, options.queue_size)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else it logs a line for each request that has to wait
    server = waitress.create_server(
        create_app(queue, options.fetch_ms),
        host="127.0.0.1",
        port=options.port,
        threads=options.threads,
        connection_limit=CONNECTIONS,
        backlog=BACKLOG,
        asyncore_use_poll=True,  # select() refuses descriptors from 1024 on
    )
    queue.start(options.workers)  # after it listens: saved tasks that are queued again fetch from it at once
    server.run()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=16, help="threads that answer HTTP")
    parser.add_argument("--workers", type=int, default=4, help="tasks that are carried out at a time")
    parser.add_argument("--queue-size", type=int, default=500, help="tasks that may wait; more are refused with 503")
    parser.add_argument("--fetch-ms", type=float, default=250.0, help="response time of the page that http-fetch fetches")
    parser.add_argument("--factorial-n", type=int, default=5000, help="factorial computes n!")
    parser.add_argument("--fd-leak", choices=["true", "false"], default="false", help="http-fetch leaks one descriptor per task")
    parser.add_argument("--folder", required=True, help="the session's folder, in which tasks are saved if --data is not given")
    parser.add_argument("--data", default="", help="folder in which tasks are saved from one session to the next")
    return parser.parse_args()


if __name__ == "__main__":
    main()
