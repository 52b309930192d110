"""Starts nginx in place of this process, with a configuration for this run: in the foreground, writing only into FOLDER."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
from pathlib import Path

CONNECTIONS = 10_000

CONFIGURATION = """\
# Made for one run by serve.py.
{user}daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
worker_processes {workers};
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    types {{ text/html html; }}
    default_type application/octet-stream;
    sendfile on;
    keepalive_timeout {keep_alive_s};
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog={backlog};
        root {folder}/www;
        index index.html;
        location = /metrics {{ default_type application/json; return 200 '{{"connections": $connections_active}}'; }}
    }}
}}
"""

BACKLOG = 4096
"""Connections that may wait to be accepted, up to somaxconn; nginx's default of 511 fills quickly without keep-alive."""


def main() -> None:
    options = _options()
    nginx = find()
    if nginx is None:
        sys.exit("nginx is not installed (Debian: apt-get install nginx-light)")
    folder: Path = options.folder.resolve()
    (folder / "www").mkdir(parents=True, exist_ok=True)
    (folder / "www" / "index.html").write_bytes(b"x" * options.file_bytes)
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            user="user root;\n" if os.geteuid() == 0 else "",  # else its workers run as `nobody`, who may not read the folder
            folder=folder,
            port=options.port,
            workers=options.workers,
            connections=min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
            keep_alive_s=75 if options.keep_alive == "true" else 0,
            backlog=BACKLOG,
        )
    )
    os.execv(nginx, [nginx, "-e", "stderr", "-p", str(folder), "-c", str(configuration)])


def find() -> str | None:
    """Path of nginx; None: it is not installed. Debian installs it into a folder that only root's PATH has."""
    return shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the configuration, the file, and what nginx writes")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep-alive", choices=["true", "false"], default="true")
    parser.add_argument("--file-bytes", type=int, default=612)
    return parser.parse_args()


if __name__ == "__main__":
    main()
