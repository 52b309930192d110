"""haproxy in front of three services of workers that sleep; one service gets SIGKILL after --at-s, as if its machine failed."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SLEEPERS = Path(__file__).resolve().parents[5] / "targets" / "sleepers" / "serve.py"

CONFIGURATION = """\
global
    maxconn 4000
defaults
    mode http
    timeout connect 1s
    timeout client 120s
    timeout server 120s
    timeout queue 120s
    retries 1
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    balance leastconn
    option httpchk GET /health
    default-server inter 1s fall 2 rise 2
{servers}
"""


def main() -> None:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    ports = [_free_port() for _ in range(3)]
    words = ["--workers", str(options.workers), "--sleep-ms", str(options.sleep_ms)]
    services = [subprocess.Popen([sys.executable, str(SLEEPERS), "--port", str(port), *words]) for port in ports]
    servers = "\n".join(f"    server s{port} 127.0.0.1:{port} check" for port in ports)
    configuration = options.folder / "haproxy.cfg"
    configuration.write_text(CONFIGURATION.format(port=options.port, servers=servers))
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    proxy = subprocess.Popen(["haproxy", "-db", "-f", str(configuration)], env={**os.environ, "PATH": path})
    _wait_until_healthy(options.port, proxy)
    time.sleep(options.at_s)  # the time of the change, which the row sets
    services[0].send_signal(signal.SIGKILL)
    sys.exit(proxy.wait())


def _wait_until_healthy(port: int, proxy: subprocess.Popen[bytes]) -> None:
    while proxy.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"haproxy ended with {proxy.returncode}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--sleep-ms", type=float, required=True)
    parser.add_argument("--at-s", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
