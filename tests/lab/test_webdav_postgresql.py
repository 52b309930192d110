"""The target `webdav` with its accounts in a PostgreSQL server of its own."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from programs import needs
from targets.served import served
from targets.test_webdav import CHEAP, create, file_of

pytestmark = [pytest.mark.slow, pytest.mark.trial, needs("psql", "setpriv", "unshare")]


def test_accounts_survive_a_restart_and_the_server_ends_with_the_service(tmp_path: Path) -> None:
    with served("webdav", tmp_path, store="postgresql", **CHEAP) as cloud:
        assert create(cloud, "gerd").status_code == 200
        assert create(cloud, "gerd", "other").status_code == 400
        pid = int((tmp_path / "postgresql" / "data" / "postmaster.pid").read_text().split()[0])
        server = psutil.Process(pid)
    server.wait(30)
    with served("webdav", tmp_path, store="postgresql", **CHEAP) as cloud:
        assert cloud.get(file_of("gerd", "ownCloud Manual.pdf"), auth=("gerd", "pw")).status_code == 200
        assert cloud.get(file_of("gerd", "ownCloud Manual.pdf"), auth=("gerd", "other")).status_code == 401
