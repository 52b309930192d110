"""The target `static`: nginx with a configuration of its own, and one line if nginx is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from programs import needs

from .served import TARGETS, served

needs_nginx = needs("nginx")


@needs_nginx
def test_it_serves_a_file_of_the_configured_size(tmp_path: Path) -> None:
    with served("static", tmp_path, file_bytes=5_000) as client:
        answer = client.get("/")
        assert (answer.status_code, len(answer.content), answer.headers.get("connection")) == (200, 5_000, "keep-alive")
        assert client.get("/metrics").json()["connections"] >= 1
        assert client.get("/nothing").status_code == 404
        assert (tmp_path / "nginx.conf").is_file() and (tmp_path / "nginx.pid").is_file(), "it writes into its own folder"


@needs_nginx
def test_without_keep_alive_it_closes_after_each_reply(tmp_path: Path) -> None:
    with served("static", tmp_path, keep_alive=False) as client:
        assert client.get("/").headers["connection"] == "close"


def test_a_missing_nginx_is_reported_in_one_line(tmp_path: Path) -> None:
    program = (TARGETS / "static" / "serve.py").read_text(encoding="utf-8")
    (tmp_path / "serve.py").write_text(program.replace("/usr/sbin", "/nowhere").replace("/usr/local/sbin", "/nowhere"))
    ran = subprocess.run(
        [sys.executable, tmp_path / "serve.py", "--port", "9999", "--folder", tmp_path],
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (ran.returncode, ran.stderr) == (1, "nginx is not installed (Debian: apt-get install nginx-light)\n")
