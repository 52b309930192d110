"""The service under load: its process, its name and its port, and the watched parts of its containers."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import cast

import pytest

from capexplorer.model.watched import PartSpec
from capexplorer.profile import Profile, Task, Users
from capexplorer.run.options import RunOptions
from capexplorer.run.service import Service, composed_parts
from capexplorer.target.containers import ReportedContainer
from capexplorer.target.supervisor import Supervisor

NO_SUPERVISOR = cast(Supervisor, None)
"""In place of a supervisor: no service is started here."""


def service(url: str | None) -> Service:
    """A service of this URL that the app has not started; None: users have URLs of their own."""
    profile = Profile(users=Users(task=(Task(name="/"),)))
    return Service(RunOptions(name="x", profile=profile, url=url, sessions_dir=Path()), NO_SUPERVISOR)


def test_the_process_that_listens_on_the_port_of_a_loopback_url_alone_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert service(f"http://127.0.0.1:{port}").find_pid() == os.getpid()
        assert service(f"http://192.0.2.1:{port}").find_pid() is None


def test_users_with_hosts_of_their_own_have_no_process_to_watch() -> None:
    try:
        listener = socket.create_server(("127.0.0.1", 80))
    except OSError as error:
        pytest.skip(f"port 80, that of a URL without a port, cannot be used: {error}")
    with listener:
        assert service(None).find_pid() is None


@pytest.mark.parametrize(
    ("url", "unseen"), [("http://127.0.0.1:{port}", True), ("http://192.0.2.1:{port}", False), ("redis://localhost", False)]
)
def test_a_service_here_whose_process_is_not_found_is_unseen(url: str, unseen: bool) -> None:
    with socket.socket() as bound:  # a port at which nothing listens
        bound.bind(("127.0.0.1", 0))
        found = service(url.format(port=bound.getsockname()[1]))
        found.find_pid()
        assert found.is_unseen is unseen


def test_a_service_whose_process_is_found_is_not_unseen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = service(f"http://127.0.0.1:{listener.getsockname()[1]}")
        found.find_pid()
        assert not found.is_unseen


def test_the_process_of_a_service_by_udp_is_found() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        assert service(f"udp://127.0.0.1:{bound.getsockname()[1]}").find_pid() == os.getpid()


@pytest.mark.parametrize(("url", "here"), [("http://127.0.0.1:81/x", True), ("http://192.0.2.1:81", False), (None, True)])
def test_a_service_is_local_unless_its_address_is_that_of_another_machine(url: str | None, here: bool) -> None:
    assert service(url).is_here is here


@pytest.mark.parametrize(
    ("url", "name", "port"),
    [("http://127.0.0.1:81/x", "127.0.0.1:81", 81), ("http://localhost", "localhost", 80),
     ("https://localhost", "localhost", 443), (None, "locustfile", 0), ("redis://localhost", "localhost", 0)],
)  # fmt: skip
def test_a_service_without_a_name_has_its_address_as_name(url: str | None, name: str, port: int) -> None:
    under_load = service(url)
    assert (under_load.facts.name, under_load.port) == (name, port)
    assert under_load.facts.command == ()


WEB = ReportedContainer("web", "p-web-1", is_here=True)
STORE = ReportedContainer("store", "p-store-1", is_here=True)


def test_a_local_container_is_read_from_this_machine() -> None:
    (part,) = composed_parts([WEB], [])
    assert part == PartSpec(name="web", container="p-web-1")
    assert part.is_here


def test_a_container_of_a_remote_daemon_is_read_inside_the_container() -> None:
    (part,) = composed_parts([ReportedContainer("web", "p-web-1", is_here=False)], [])
    assert part == PartSpec(name="web", at="docker exec -i p-web-1")
    assert part.selected == ("pid", "1")


def test_several_containers_of_a_service_are_numbered_parts() -> None:
    parts = composed_parts([WEB, ReportedContainer("web", "p-web-2", is_here=True), STORE], [])
    assert [part.name for part in parts] == ["web1", "web2", "store"]


def test_a_part_of_the_profile_with_the_name_of_a_service_is_merged_with_its_container() -> None:
    of_profile = [PartSpec(name="store", postgres="postgresql://x@127.0.0.1/shop"), PartSpec(name="host")]
    parts = list(composed_parts([WEB, STORE], of_profile))
    assert parts == [
        PartSpec(name="web", container="p-web-1"),
        PartSpec(name="store", container="p-store-1", postgres="postgresql://x@127.0.0.1/shop"),
        PartSpec(name="host"),
    ]


def test_a_part_of_the_profile_keeps_its_own_transport() -> None:
    of_profile = [PartSpec(name="store", at="ssh db1", port=5432)]
    assert list(composed_parts([STORE], of_profile)) == of_profile


def test_names_of_services_are_shortened_and_cleaned_to_valid_names_of_parts() -> None:
    names = ["_shop.web", "a" * 40]
    parts = composed_parts([ReportedContainer(name, "x", is_here=True) for name in names], [])
    assert [part.name for part in parts] == ["shop-web", "a" * 32]
