"""The service that is explored: which process is watched when nothing was started."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import cast

import pytest

from capexplorer.profile import Profile, Task, Users
from capexplorer.run.options import RunOptions
from capexplorer.run.service import Service
from capexplorer.target.supervisor import Supervisor

NONE_STARTED = cast(Supervisor, None)
"""Nothing is started here, so nothing supervises."""


def service(url: str | None) -> Service:
    profile = Profile(users=Users(task=(Task(name="/"),)))
    return Service(RunOptions(name="x", profile=profile, url=url, sessions_dir=Path()), NONE_STARTED)


def test_a_loopback_listener_on_the_urls_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert service(f"http://127.0.0.1:{listener.getsockname()[1]}").find_pid() == os.getpid()


def test_users_with_hosts_of_their_own_have_no_process_to_watch() -> None:
    try:
        listener = socket.create_server(("127.0.0.1", 80))
    except OSError as error:
        pytest.skip(f"port 80, where a URL without one points, cannot be had: {error}")
    with listener:
        assert service(None).find_pid() is None


def test_a_service_elsewhere_has_no_process_to_watch() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert service(f"http://192.0.2.1:{listener.getsockname()[1]}").find_pid() is None


@pytest.mark.parametrize(("url", "here"), [("http://127.0.0.1:81/x", True), ("http://192.0.2.1:81", False), (None, True)])
def test_a_service_is_here_unless_its_address_is_elsewhere(url: str | None, here: bool) -> None:
    assert service(url).is_here is here


@pytest.mark.parametrize(
    ("url", "name", "port"),
    [("http://127.0.0.1:81/x", "127.0.0.1:81", 81), ("http://localhost", "localhost", 80),
     ("https://localhost", "localhost", 443), (None, "locustfile", 80)],
)  # fmt: skip
def test_a_service_without_a_name_is_called_by_its_address(url: str | None, name: str, port: int) -> None:
    made = service(url)
    assert (made.facts.name, made.port) == (name, port)
    assert made.facts.command == ()
