"""A proxy that forwards k requests at a time, and a rate limiter that accepts one request every s / k."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
from pathlib import Path

SLEEPERS = Path(__file__).resolve().parents[5] / "targets" / "sleepers" / "serve.py"
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))

NGINX = """\
{user}daemon off;
pid {folder}/nginx.pid;
error_log stderr crit;
worker_processes 1;
events {{ worker_connections 4000; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    limit_req_zone $server_port zone=all:1m rate={rate}r/s;
    server {{
        listen 127.0.0.1:{port} backlog=2048;
        root {folder}/www;
        location = /work {{ limit_req zone=all burst=4000; }}
    }}
}}
"""

HAPROXY = """\
global
    maxconn 4000
defaults
    mode http
    timeout connect 10s
    timeout client 120s
    timeout server 120s
    timeout queue 120s
    option http-keep-alive
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    server one 127.0.0.1:{backend_port} maxconn {workers}
"""


def nginx(options: argparse.Namespace) -> None:
    """Delays requests to k / s a second."""
    folder = options.folder.resolve()
    (folder / "www").mkdir(parents=True, exist_ok=True)
    for name in ("work", "health"):
        (folder / "www" / name).write_text("ok\n")
    user = "user root;\n" if os.geteuid() == 0 else ""
    rate = round(options.workers / (options.sleep_ms / 1000))
    (folder / "nginx.conf").write_text(NGINX.format(user=user, folder=folder, port=options.port, rate=rate))
    os.environ["PATH"] = PATH
    os.execvp("nginx", ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")])


def haproxy(options: argparse.Namespace) -> None:
    """Queues requests in front of a service that serves up to 1,000 at a time."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        backend_port = free.getsockname()[1]
    words = ["--port", str(backend_port), "--workers", "1000", "--sleep-ms", str(options.sleep_ms)]
    subprocess.Popen([sys.executable, str(SLEEPERS), *words])
    configuration = options.folder / "haproxy.cfg"
    configuration.write_text(HAPROXY.format(port=options.port, backend_port=backend_port, workers=options.workers))
    os.environ["PATH"] = PATH
    os.execvp("haproxy", ["haproxy", "-db", "-f", str(configuration)])
