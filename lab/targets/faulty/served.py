"""Faults of how connections are served: workers, pools, processes, queues. Each function listens on the port and never
returns."""

from __future__ import annotations

import json
import os
import queue
import resource
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from acts import ok, spin
from wire import Request, accept_for_ever, listen, reply, serve_connection


def few_files(port: int, backlog: int, limit: int) -> None:
    """At most `limit` descriptors: further connections are not accepted."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    accept_for_ever(listen(port, backlog), ok)


def slow_accept(port: int, backlog: int, pause_ms: int) -> None:
    """One connection every `pause_ms`; the rest wait in the backlog, while it has room."""
    listener = listen(port, backlog)
    for served in count():
        connection, _ = listener.accept()
        threading.Thread(target=serve_connection, args=(connection, ok), daemon=True).start()
        time.sleep(pause_ms / 1000 if served > 2 else 0)


def pool(port: int, backlog: int, workers: int) -> None:
    """Each of `workers` threads accepts a connection, sleeps for 50 ms, replies, and closes it."""
    listener = listen(port, backlog)

    def wait_and_reply(request: Request) -> bool:
        time.sleep(0.05)
        return reply(request, close=True)

    def work() -> None:
        while True:
            serve_connection(listener.accept()[0], wait_and_reply)

    for _ in range(workers - 1):
        threading.Thread(target=work, daemon=True).start()
    work()


def one_thread(port: int, backlog: int, turns: int) -> None:
    """An event loop that computes: one thread does all the work. A second thread only sleeps."""
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    listener, selector = listen(port, backlog), selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            connection: socket.socket = key.data or listener.accept()[0]
            if key.data is None:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ, connection)
            elif not _answer(connection, turns):
                selector.unregister(connection)
                connection.close()


def _answer(connection: socket.socket, turns: int) -> bool:
    with suppress(OSError):
        head = connection.recv(65_536)
        if head:
            spin(0 if head.startswith((b"GET /health", b"GET /metrics")) else turns)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            return b"\r\nconnection: close" not in head.lower()
    return False


def processes(port: int, backlog: int, turns: int) -> None:
    """Three processes that compute, all on the last core: CPU is their only limit."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    listener = listen(port, backlog)
    for _ in range(2):
        os.fork()
    accept_for_ever(listener, lambda request: spin(turns) is not None and reply(request))


def workers_that_die(port: int, backlog: int, after: int) -> None:
    """Two forked workers; each dies in the middle of a reply after `after` requests, and is replaced."""
    listener = listen(port, backlog)

    def worker() -> None:
        def answer(request: Request) -> bool:
            if request.number > after:
                os._exit(1)
            return ok(request)

        accept_for_ever(listener, answer)

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    alive = {_fork(worker) for _ in range(2)}
    while True:
        ended, _ = os.wait()
        alive.discard(ended)
        time.sleep(0.3)
        alive.add(_fork(worker))


def _fork(body: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        body()
    return pid


def workers_that_retire(port: int, backlog: int, after: int) -> None:
    """Two forked workers; after `after` requests each closes its connections after a whole reply, ends, and is replaced."""
    listener = listen(port, backlog)

    def worker() -> None:
        open_now, lock = [0], threading.Lock()

        def serve(connection: socket.socket) -> None:
            serve_connection(connection, answer)
            with lock:
                open_now[0] -= 1

        def answer(request: Request) -> bool:
            time.sleep(0.002)
            served[0] = max(served[0], request.number)
            return reply(request, close=request.number >= after)

        served = [0]
        while served[0] < after:
            connection, _ = listener.accept()
            with lock:
                open_now[0] += 1
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        while open_now[0]:
            time.sleep(0.05)
        os._exit(0)

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    for _ in range(2):
        _fork(worker)
    while True:
        os.wait()
        _fork(worker)


def tasks(port: int, backlog: int, task_ms: int) -> None:
    """Each request adds a task to a queue and is answered at once; one worker finishes a task every `task_ms`."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    accepted, finished = count(), count()
    reported = {"accepted": 0, "finished": 0}

    def work() -> None:
        while True:
            waiting.get()
            time.sleep(task_ms / 1000)
            reported["finished"] = next(finished) + 1

    def accept(request: Request) -> bool:
        waiting.put(request.number)
        reported["accepted"] = next(accepted) + 1
        return reply(request, json.dumps({"task": request.number}))

    threading.Thread(target=work, daemon=True).start()
    accept_for_ever(listen(port, backlog), accept, lambda: {**reported, "queued": waiting.qsize()})


def eat(port: int, backlog: int, size: int) -> None:
    """Allocates `size` bytes with each request and never frees them; a cgroup limits its memory."""
    kept: list[bytes] = []

    def answer(request: Request) -> bool:
        kept.append(b"x" * size)
        return ok(request)

    accept_for_ever(listen(port, backlog), answer)


SERVED = {
    "few_files": few_files,
    "slow_accept": slow_accept,
    "pool": pool,
    "one_thread": one_thread,
    "processes": processes,
    "workers_that_die": workers_that_die,
    "workers_that_retire": workers_that_retire,
    "tasks": tasks,
    "eat": eat,
}
