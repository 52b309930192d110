"""Faults of one reply. Each act answers a request wrongly, or after damage; `--act` selects one."""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial

from wire import Answer, Request, reply

WORK_S = 0.002
"""Duration of a correct reply, so that no client loops without a pause."""

crashed = threading.Event()
"""When it is set, the main thread ends with an exception."""

_kept: list[object] = []
_lock = threading.Lock()
_pools: dict[int, threading.Semaphore] = {}
_turns = {"next": 0.0, "tokens": 0.0, "filled": 0.0}
"""State of the rate limits: `next` and `filled` are seconds of the monotonic clock, `tokens` is what the bucket has."""


def ok(request: Request) -> bool:
    time.sleep(WORK_S)
    return reply(request)


def slow(request: Request, sleep_ms: int) -> bool:
    time.sleep(sleep_ms / 1000)
    return reply(request)


def large(request: Request, size: int) -> bool:
    time.sleep(WORK_S)
    return reply(request, body="x" * size)


def sticky(request: Request) -> bool:
    """The connection is kept open whatever the client requests: the client closes first and has the TIME_WAIT."""
    time.sleep(WORK_S)
    return reply(request._replace(last=False))


def close(request: Request) -> bool:
    time.sleep(WORK_S)
    return reply(request, close=True)


def reset(request: Request) -> bool:
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def reset_some(request: Request, every: int) -> bool:
    """RST on each `every`th connection; all others are closed with a FIN after five replies."""
    if request.connection_number % every == 0:
        return reset(request)
    time.sleep(WORK_S)
    return reply(request, close=request.nth == 5)


def silence(request: Request) -> bool:
    return False


def cut_body(request: Request) -> bool:
    request.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
    return False


def cut_chunks(request: Request) -> bool:
    request.connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nonly this")
    return False


def cut_headers(request: Request) -> bool:
    request.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Le")
    return False


def no_http(request: Request) -> bool:
    request.connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    return False


def stall(request: Request, after: int) -> bool:
    """Answers the first `after` requests, and no further one."""
    if request.number > after:
        time.sleep(3600)
    return ok(request)


def stall_with_files(request: Request, after: int, limit: int) -> bool:
    """The same with 96% of its descriptors in use; the rest suffices for clients that connect again after a timeout."""
    if request.number == 1:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        _kept.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(limit * 96 // 100))
    return stall(request, after)


def sticky_status(request: Request, code: int, every: int) -> bool:
    return status(request._replace(last=False), code, every)


def status(request: Request, code: int, after: int) -> bool:
    """`code` for each `after`th request (0: for all)."""
    time.sleep(WORK_S)
    fails = not after or request.number % after == 0
    return reply(request, status=code, headers="Retry-After: 1") if fails else reply(request)


def shed(request: Request, limit: int) -> bool:
    """503 beyond `limit` concurrent requests, as in load shedding."""
    with _lock:
        busy = len(_kept)
        if busy < limit:
            _kept.append(request)
    if busy >= limit:
        return reply(request, status=503, headers="Retry-After: 1")
    time.sleep(0.05)
    with _lock:
        _kept.pop()
    return reply(request)


def report_failure(request: Request, body: str, every: int) -> bool:
    """200, with a body that reports a failure for each `every`th request."""
    time.sleep(WORK_S)
    return reply(request, body if request.number % max(every, 1) == 0 else "ok")


def crash(request: Request, after: int) -> bool:
    """The main thread ends with a traceback."""
    if request.number == after:
        crashed.set()
    return ok(request)


def kill(request: Request, after: int, number: signal.Signals) -> bool:
    if request.number == after:
        os.kill(os.getpid(), number)
    return ok(request)


def leak_memory(request: Request, size: int) -> bool:
    _kept.append(b"x" * size)
    return ok(request)


def cache(request: Request, size: int, keys: int) -> bool:
    """`size` bytes for each of `keys` keys: memory grows until all keys are cached."""
    if len(_kept) < keys:
        _kept.append(b"x" * size)
    return ok(request)


def leak_files(request: Request, count: int) -> bool:
    """`count` descriptors for each request; one in -count requests when negative."""
    if count > 0 or request.number % -count == 0:
        _kept.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(max(count, 1)))
    return ok(request)


def open_files(request: Request, limit: int) -> bool:
    """Opens a file for each request and never closes it; at the limit the reply is a 200 whose body reports the failure."""
    if request.number == 1:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    time.sleep(WORK_S)
    try:
        _kept.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return reply(request, f"task_failed: {error}")
    return reply(request)


def write(request: Request, size: int) -> bool:
    """Appends to a file in its folder; when the disk is full the reply is a 500."""
    time.sleep(WORK_S)
    try:
        with open("orders.log", "ab") as file:
            file.write(b"x" * size)
    except OSError as error:
        return reply(request, str(error), status=500)
    return reply(request)


def store(request: Request, size: int, count: int) -> bool:
    """Writes `count` files, one once the one before is on the disk, and replies after the last one."""
    for _ in range(count):
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(b"x" * size)
            os.fsync(file.fileno())
    return reply(request)


def race(request: Request, keep_alive_ms: int) -> bool:
    """The keep-alive timeout expires when the request arrives: the connection is closed without reading the request."""
    if request.nth > 1 and request.idle_s * 1000 > keep_alive_ms:
        return reset(request)
    return ok(request)


def lock(request: Request, hold_ms: int) -> bool:
    """All requests need one lock, and hold it while they wait for something else."""
    with _lock:
        time.sleep(hold_ms / 1000)
    return reply(request)


def semaphore(request: Request, size: int, hold_ms: int) -> bool:
    """A pool of `size`: a request holds one place while it waits for something else."""
    with _lock:
        places = _pools.setdefault(size, threading.Semaphore(size))
    with places:
        time.sleep(hold_ms / 1000)
    return reply(request)


def paced(request: Request, rate: int) -> bool:
    """At most `rate` requests a second begin; each reserves the next time slot and sleeps until then."""
    with _lock:
        turn_s = _turns["next"] = max(time.monotonic(), _turns["next"] + 1 / rate)
    time.sleep(max(0.0, turn_s - time.monotonic()))
    return ok(request)


def bucket(request: Request, rate: int) -> bool:
    """A token bucket of `rate` a second that holds a tenth of that; 429 while it is empty."""
    with _lock:
        now_s, most = time.monotonic(), rate / 10
        tokens = min(most, _turns["tokens"] + rate * (now_s - _turns["filled"]))
        allowed = tokens >= 1
        _turns["tokens"], _turns["filled"] = tokens - allowed, now_s
    return ok(request) if allowed else reply(request, status=429)


def burn(request: Request, turns: int) -> bool:
    """Pure Python in the connection's own thread, so one thread at a time holds the GIL."""
    spin(turns)
    return reply(request)


def spin(turns: int) -> int:
    """About 60 ns a turn."""
    value = 1
    for _ in range(turns):
        value = (value * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
    return value


def named(act: str, after: int, amount: int) -> Answer:
    """The act of that name. Raises KeyError."""
    acts: dict[str, Callable[[Request], bool]] = {
        "ok": ok,
        "slow": partial(slow, sleep_ms=amount),
        "large": partial(large, size=amount),
        "sticky": sticky,
        "close": close,
        "reset": reset,
        "reset_some": partial(reset_some, every=after),
        "silence": silence,
        "cut_body": cut_body,
        "cut_chunks": cut_chunks,
        "cut_headers": cut_headers,
        "no_http": no_http,
        "stall": partial(stall, after=after),
        "stall_with_files": partial(stall_with_files, after=after, limit=amount),
        "sticky_status": partial(sticky_status, code=amount, every=after),
        "cache": partial(cache, size=amount, keys=after),
        "status": partial(status, code=amount, after=after),
        "shed": partial(shed, limit=amount),
        "task_failed": partial(report_failure, body="task_failed: division by zero", every=after),
        "lost_updates": partial(report_failure, body="lost_updates: expected 41, read 40", every=after),
        "crash": partial(crash, after=after),
        "killed": partial(kill, after=after, number=signal.SIGKILL),
        "segfault": partial(kill, after=after, number=signal.SIGSEGV),
        "leak_memory": partial(leak_memory, size=amount),
        "leak_files": partial(leak_files, count=amount),
        "open_files": partial(open_files, limit=amount),
        "write": partial(write, size=amount),
        "store": partial(store, size=amount, count=after),
        "race": partial(race, keep_alive_ms=amount),
        "lock": partial(lock, hold_ms=amount),
        "semaphore": partial(semaphore, size=amount, hold_ms=after),
        "paced": partial(paced, rate=amount),
        "bucket": partial(bucket, rate=amount),
        "burn": partial(burn, turns=amount),
    }
    return acts[act]
