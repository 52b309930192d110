"""Proxies: one forwards k requests at a time, one balances three services, one accepts a request every s / k."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
SLEEPERS = HERE.parents[2] / "targets" / "sleepers" / "serve.py"
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))

BALANCED = """balance leastconn
    option httpchk GET /health
    default-server inter 1s fall 2 rise 2
    """


def nginx(options: argparse.Namespace) -> None:
    """Delays requests to k / s a second."""
    folder = options.folder.resolve()
    (folder / "www").mkdir(parents=True, exist_ok=True)
    for name in ("work", "health"):
        (folder / "www" / name).write_text("ok\n")
    user = "user root;\n" if os.geteuid() == 0 else ""
    rate = round(options.workers / (options.sleep_ms / 1000))
    (folder / "nginx.conf").write_text(
        (HERE / "nginx.template").read_text().format(user=user, folder=folder, port=options.port, rate=rate)
    )
    os.environ["PATH"] = PATH
    os.execvp("nginx", ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")])


def haproxy(options: argparse.Namespace) -> None:
    """Queues requests in front of a service that serves up to 1,000 at a time."""
    port, _ = _sleepers(1_000, options.sleep_ms)
    os.execvp("haproxy", _haproxy(options, f"server one 127.0.0.1:{port} maxconn {options.workers}", connect_s=10))


def balancer(options: argparse.Namespace) -> None:
    """Three services of k workers; one gets SIGKILL at_s after the first health check that succeeds, as if its machine failed."""
    services = [_sleepers(options.workers, options.sleep_ms) for _ in range(3)]
    servers = BALANCED + "\n    ".join(f"server s{port} 127.0.0.1:{port} check" for port, _ in services)
    proxy = subprocess.Popen(_haproxy(options, servers, connect_s=1))
    while proxy.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{options.port}/health", timeout=1):
            break
        time.sleep(0.05)
    time.sleep(options.at_s)  # the time of the change, which the row sets
    services[0][1].send_signal(signal.SIGKILL)
    sys.exit(proxy.wait())


def _sleepers(workers: int, sleep_ms: float) -> tuple[int, subprocess.Popen[bytes]]:
    """A service that sleeps for each request, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    words = ["--port", str(port), "--workers", str(workers), "--sleep-ms", str(sleep_ms)]
    return port, subprocess.Popen([sys.executable, str(SLEEPERS), *words])


def _haproxy(options: argparse.Namespace, servers: str, connect_s: int) -> list[str]:
    configuration = options.folder.resolve() / "haproxy.cfg"
    configuration.write_text(
        (HERE / "haproxy.template").read_text().format(port=options.port, servers=servers, connect_s=connect_s)
    )
    os.environ["PATH"] = PATH
    return ["haproxy", "-db", "-f", str(configuration)]
