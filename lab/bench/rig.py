"""What benchmarks share: the app on a pseudo-terminal, plain headless Locust, a fast server, percentiles."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from capexplorer.model.events import Event, LevelClosed, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.session.reader import read

BIN = Path(sys.executable).parent
SIZE = (120, 40)

PROFILE = """\
title = "benchmark"
url = "{url}"
[users]
wait_s = {wait_s}
start = {users}
client = "{client}"
[[users.task]]
name = "{path}"
"""

LOCUSTFILE = """\
import atexit, json, time
from locust import FastHttpUser, HttpUser, constant, events, task

latencies_ms, starts = [], []

@events.request.add_listener
def on_request(response_time, exception=None, **_):
    latencies_ms.append(response_time)
    starts.append(time.time())

@events.quitting.add_listener
def on_quitting(**_):
    with open({out!r}, "w") as file:
        json.dump([starts, latencies_ms], file)

class BenchUser({kind}):
    wait_time = constant({wait_s})

    @task
    def get(self):
        self.client.get("/")
"""


class OnTerminal:
    """A program on a pseudo-terminal of its own; output is read and timed by a thread."""

    def __init__(self, argv: list[str], *, size: tuple[int, int] = SIZE, env: dict[str, str] | None = None) -> None:
        self.chunks: list[tuple[float, bytes]] = []
        self.started_s = time.monotonic()
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm-256color", "COLUMNS": "", "LINES": "", **(env or {})})
            os.environ.pop("COLUMNS"), os.environ.pop("LINES"), os.environ.pop("COLORTERM", None)
            os.execv(argv[0], argv)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65_536)
            except OSError:
                return
            if not data:
                return
            self.chunks.append((time.monotonic(), data))

    def press(self, keys: str) -> None:
        """Type keys, without waiting."""
        os.write(self._master, keys.encode())

    def seen(self, text: bytes, timeout_s: float = 30.0) -> float:
        """Seconds from the start until `text` had been written."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            together = b""
            for at_s, data in list(self.chunks):
                together += data
                if text in together:
                    return at_s - self.started_s
            time.sleep(0.005)
        raise TimeoutError(f"{text!r} did not appear within {timeout_s:g} s")

    def bytes_between(self, begin_s: float, end_s: float) -> int:
        return sum(len(data) for at_s, data in self.chunks if begin_s <= at_s < end_s)

    def end(self) -> int:
        """Quit by key and wait for the end; returns the exit code. Raises TimeoutError."""
        for keys in ("q", "\r"):
            with contextlib.suppress(OSError):
                self.press(keys)
            time.sleep(0.5)
        for _ in range(300):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self._master)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise TimeoutError("the app did not end within 30 s")


class Run:
    """The session log of a finished run of the app; `folder` has no other log."""

    def __init__(self, folder: Path) -> None:
        (self.path,) = folder.glob("*.jsonl")
        self.bytes = self.path.stat().st_size
        self.events: list[Event] = list(read(self.path))
        self.samples = [event for event in self.events if isinstance(event, Sample)]

    @property
    def settled(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.settled]

    def rate_rps(self) -> float:
        """Requests per second over the settled seconds."""
        settled = self.settled
        requests = sum(tick.requests for sample in settled for tick in sample.endpoints)
        return requests / sum(sample.duration_s for sample in settled)

    def latency(self) -> LatencyHistogram:
        """Latencies of all levels and endpoints."""
        merged = LatencyHistogram()
        for event in self.events:
            if isinstance(event, LevelClosed):
                for endpoint in event.endpoints:
                    if endpoint.latency:
                        merged.add(LatencyHistogram.decode(endpoint.latency))
        return merged


def app(url: str, *, users: int, wait_s: float, seconds: float, client: str = "fast", workers: int = 0) -> Run:
    """The app with its screen at one level, for that many seconds, with this number of worker processes."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "bench.toml"
        profile.write_text(PROFILE.format(url=url, users=users, wait_s=wait_s, client=client, path="/"))
        sessions = Path(folder) / "sessions"
        of_workers = ["--workers", str(workers)] if workers else []
        run = OnTerminal([str(BIN / "capexplorer"), "run", str(profile), "--sessions-dir", str(sessions), *of_workers])
        run.seen(b"settl", 30)
        time.sleep(seconds)
        run.end()
        return Run(sessions)


def headless_locust(url: str, *, users: int, wait_s: float, seconds: float, client: str = "fast") -> tuple[float, list[float]]:
    """Plain headless Locust: (requests per second, latencies in ms), without its first 4 s, since the app does not count its
    first seconds either."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        kind = {"fast": "FastHttpUser", "requests": "HttpUser"}[client]
        (Path(folder) / "bench_locust.py").write_text(LOCUSTFILE.format(out=str(out), kind=kind, wait_s=wait_s))
        subprocess.run(
            [str(BIN / "locust"), "-f", "bench_locust.py", "--headless", "-H", url, "-u", str(users), "-r", str(users)]
            + ["-t", f"{seconds + 4:.0f}s", "--only-summary", "--loglevel", "ERROR"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        starts, latencies_ms = json.loads(out.read_text())
    first_s = starts[0] + 4
    kept = [(at, ms) for at, ms in zip(starts, latencies_ms, strict=True) if at >= first_s]
    return len(kept) / (kept[-1][0] - first_s), [ms for _, ms in kept]


def percentile(values: list[float], q: float) -> float:
    return sorted(values)[max(0, round(q * len(values)) - 1)]


def mean(values: list[float | None]) -> float:
    """Mean of the values that were measured."""
    return statistics.fmean(value for value in values if value is not None)


def median(values: list[float]) -> float:
    return statistics.median(values)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def fast_server() -> Iterator[tuple[str, str]]:
    """(name, url) of nginx if it is installed, else of the null responder."""
    port = free_port()
    nginx = shutil.which("nginx") or ("/usr/sbin/nginx" if os.path.exists("/usr/sbin/nginx") else None)
    with tempfile.TemporaryDirectory() as folder:
        if nginx:
            config = Path(folder) / "nginx.conf"
            config.write_text(
                f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n"
                f"worker_rlimit_nofile 20000; events {{ worker_connections 8192; }}\n"
                f"http {{ access_log off; server {{ listen 127.0.0.1:{port} backlog=4096;"
                f" location / {{ return 200 'ok'; }} location /status {{ stub_status; }}"
                f" location /fails {{ return 503 'no'; }} }} keepalive_requests 100000000; }}\n"
            )
            argv = [nginx, "-p", folder, "-c", str(config), "-e", f"{folder}/error.log"]
        else:
            argv = [sys.executable, "-m", "capexplorer.load.null_responder", str(port)]
        with running(argv, port):
            yield ("nginx" if nginx else "null responder"), f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def running(argv: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server process that listens on `port`, ended with the block."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(10)
