"""The capacity of the sleepers, measured without capexplorer: completions per second while their queue is never empty, counted
over whole rounds of k."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SERVE = Path(__file__).resolve().parents[3] / "targets" / "sleepers" / "serve.py"
REQUEST = b"GET /work HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def sleepers(workers: int, sleep_ms: float, before: tuple[str, ...] = ()) -> Iterator[tuple[int, int]]:
    """A service of `workers` that sleep for each request, ended with the block: (port, pid). `before`: a command prefix."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, str(SERVE), "--port", str(port), "--workers", str(workers), "--sleep-ms", str(sleep_ms)]
    process = subprocess.Popen([*before, *command], stdin=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(10)


def measured(workers: int, sleep_ms: float, seconds: float = 20.0) -> tuple[float, float]:
    """(requests a second, cores used) with three requests in flight for each worker."""
    with sleepers(workers, sleep_ms) as (port, pid):
        times = _replies(port, 3 * workers, seconds)
        user, system = map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])
    rounds = times[workers::workers]
    return (len(rounds) - 1) * workers / (rounds[-1] - rounds[0]), (user + system) / os.sysconf("SC_CLK_TCK") / seconds


def _replies(port: int, connections: int, seconds: float) -> list[float]:
    """Times at which replies arrived, in seconds of the monotonic clock; each connection always has one request in flight."""
    times: list[float] = []
    with selectors.DefaultSelector() as selector:
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        try:
            for client in clients:
                client.sendall(REQUEST)
                selector.register(client, selectors.EVENT_READ, client)
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                for key, _ in selector.select(1):
                    key.data.recv(4096)
                    times.append(time.monotonic())
                    key.data.sendall(REQUEST)
        finally:
            for client in clients:
                client.close()
    return times
