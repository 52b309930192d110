"""The process that runs the services of a Compose file; `docker` is a small shell script here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from capexplorer.target.containers import ReportedContainer, read_containers
from target.target_rig import TIMEOUT_S, becomes_true

DOCKER = """#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
*"config --services") echo web ;;
*" up "*)
  : >up
  trap 'echo stopped >>order; exit 0' TERM
  echo "web-1 | the password is correct-horse-battery"
  while :; do sleep 0.02; done ;;
events*) exec sleep 600 ;;
"ps -aq"*) [ -e up ] && [ ! -e removed ] && echo 1234 ;;
"inspect 1234") cat inspect.json ;;
"logs"*) echo "no space left for correct-horse-battery" ;;
"volume ls"*) [ -e up ] && echo data ;;
"volume rm"*) echo "$*" >>order ;;
"rm "*) : >removed; echo "$*" >>order ;;
esac
exit 0
"""


def container(**state: object) -> dict[str, object]:
    labels = {"com.docker.compose.service": "web", "com.docker.compose.container-number": "1"}
    environment = ["PASSWORD=correct-horse-battery", "PORT=8080"]
    return {"Id": "1234", "Name": "/web-1", "State": state, "Config": {"Env": environment, "Labels": labels}}


@contextmanager
def running(folder: Path, **state: object) -> Iterator[subprocess.Popen[str]]:
    (folder / "docker").write_text(DOCKER, encoding="utf-8")
    (folder / "docker").chmod(0o755)
    (folder / "inspect.json").write_text(json.dumps([container(**state)]), encoding="utf-8")
    command = [sys.executable, "-P", "-m", "capexplorer.target.containers_process", "compose.yaml", "60", "containers.json"]
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_containers_that_are_well_are_reported_and_removed_after_they_were_stopped(tmp_path: Path) -> None:
    with running(tmp_path, Status="running", Pid=0, ExitCode=0) as process:
        assert becomes_true(lambda: (tmp_path / "containers.json").exists())
        assert read_containers(tmp_path / "containers.json") == [ReportedContainer("web", "web-1", is_here=False)]
        process.terminate()
        printed, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert (tmp_path / "order").read_text().splitlines() == ["stopped", "rm --force --volumes 1234", "volume rm --force data"]
    assert not (tmp_path / "containers.json").exists()
    assert "web-1 | the password is ***" in printed.splitlines() and "correct-horse" not in printed


def test_a_container_that_exits_is_removed_and_the_last_line_says_why(tmp_path: Path) -> None:
    with running(tmp_path, Status="exited", Pid=0, ExitCode=3) as process:
        printed, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert printed.splitlines()[-2:] == ["web | no space left for ***", "web: exited with code 3"]
    assert "rm --force --volumes 1234" in (tmp_path / "order").read_text()
