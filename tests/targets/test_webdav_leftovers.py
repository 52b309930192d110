"""Accounts that a crashed session left in the WebDAV service are removed when the next session starts."""

from __future__ import annotations

import os
import re
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from e2e.rig import ROOT, run_to_end, started_run, wait_until

from .served import served

pytestmark = pytest.mark.slow

ADMIN = ("admin", "admin")
USERS = "/ocs/v2.php/cloud/users"


def service(folder: Path) -> AbstractContextManager[httpx.Client]:
    """The service; started again with the same folder it has the same accounts."""
    return served("webdav", folder, store="sqlite", manual_mb=0.01, hash_rounds=10)


def accounts(cloud: httpx.Client) -> list[str]:
    return re.findall("<element>(.+?)</element>", cloud.get(USERS, auth=ADMIN).text)


def profile(cloud: httpx.Client, plan: str) -> tuple[str, ...]:
    """Arguments of a run of the profile on the running service."""
    return ("webdav", "--host", str(cloud.base_url).rstrip("/"), "--headless", "--plan", plan)


def kill_with_accounts(folder: Path, cloud: httpx.Client, count: int) -> None:
    """Run a session and kill it with SIGKILL, so that the accounts of its users are not removed."""
    folder.mkdir()
    with started_run(folder, *profile(cloud, f"{count}:60s"), cwd=ROOT) as run:
        wait_until(lambda: len(accounts(cloud)) == count, f"{count} accounts")
        os.kill(run.process.pid, signal.SIGKILL)
        run.process.wait()


def test_the_next_start_removes_only_accounts_that_a_crash_left_over(tmp_path: Path) -> None:
    scratch, last = tmp_path / "scratch", tmp_path / "last"
    last.mkdir()
    with service(scratch) as cloud:
        kill_with_accounts(tmp_path / "killed", cloud, 3)
        cloud.post(USERS, data={"userid": "anna", "password": "pw"}, auth=ADMIN)
    with service(scratch) as cloud:
        assert len(accounts(cloud)) == 4
        run, code = run_to_end(last, *profile(cloud, "1:8s"), cwd=ROOT)
        assert code == 0, run.stderr
        assert accounts(cloud) == ["anna"]
    assert [home.name for home in (scratch / "homes").iterdir()] == ["anna"]
