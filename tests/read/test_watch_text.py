"""Parsing of `--watch NAME=TRANSPORT` and of `[[watch]]` in profiles: parts, or a message of one line with what was expected."""

from __future__ import annotations

import msgspec
import pytest

from capexplorer.commands.run.resolving import watches_of
from capexplorer.errors import InputError
from capexplorer.model.watched import PartSpec, parsed_part
from capexplorer.read.link import command_of
from capexplorer.read.servers import CLIENTS, missing_client


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web=here", PartSpec(name="web")),
        ("web=:pid 12", PartSpec(name="web", pid=12)),
        ("web=pid 12", PartSpec(name="web", pid=12)),
        ("db=ssh db1:port 5432", PartSpec(name="db", at="ssh db1", port=5432)),
        ("db=ssh -p 2222 me@db1", PartSpec(name="db", at="ssh -p 2222 me@db1")),
        ("db=docker exec -i db", PartSpec(name="db", at="docker exec -i db")),
        ("api=ssh web1:unit api.service", PartSpec(name="api", at="ssh web1", unit="api.service")),
        (
            "api=ssh web1:cgroup /system.slice/api.service",
            PartSpec(name="api", at="ssh web1", cgroup="/system.slice/api.service"),
        ),
        ("db=ssh db1: container pg", PartSpec(name="db", at="ssh db1", container="pg")),
        (
            "db=here:port 5432 postgres=postgresql://me@db1/shop?sslmode=require",
            PartSpec(name="db", port=5432, postgres="postgresql://me@db1/shop?sslmode=require"),
        ),
        ("db=ssh db1 redis=redis://db1:6379", PartSpec(name="db", at="ssh db1", redis="redis://db1:6379")),
        ("db=postgres=postgresql://me@db1/shop", PartSpec(name="db", postgres="postgresql://me@db1/shop")),
        ("app=prometheus=http://app:8000/metrics", PartSpec(name="app", prometheus="http://app:8000/metrics")),
        (
            "db=:unit mysql prometheus=http://db1:9104/metrics metrics=mysql_up,mysql_threads",
            PartSpec(name="db", unit="mysql", prometheus="http://db1:9104/metrics", metrics=("mysql_up", "mysql_threads")),
        ),
    ],
)
def test_a_watch_text_is_parsed_to_a_part(text: str, expected: PartSpec) -> None:
    assert parsed_part(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web1", "expected NAME=TRANSPORT"),
        ("a b=ssh web1", "a name of letters, digits"),
        ("db=ssh db1:port x", "a whole number after port, got 'x'"),
        ("db=ssh 'db1", "quotes do not match"),
        ("db=here:port 5432 postgres=5432", "a URL after postgres=, such as postgresql://USER@HOST/DATABASE"),
        ("db=here metrics=mysql_up", "names of metrics only beside `prometheus`"),
    ],
)
def test_an_invalid_watch_text_is_refused_in_one_line(text: str, expected: str) -> None:
    with pytest.raises(InputError, match="--watch: ") as caught:
        watches_of([text], ())
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_part_of_the_command_line_replaces_the_part_of_that_name_in_the_profile() -> None:
    parts_of_profile = (PartSpec(name="db", at="ssh old"), PartSpec(name="web", at="ssh web1"))
    assert [part.at for part in watches_of(["db=ssh new"], parts_of_profile)] == ["ssh web1", "ssh new"]
    with pytest.raises(InputError, match="a name of its own"):
        watches_of(["db=here", "db=ssh db1"], ())


def test_in_a_container_the_first_process_is_selected_or_that_of_a_port() -> None:
    assert PartSpec(name="db", at="kubectl exec -i db-0 --").selected == ("pid", "1")
    assert PartSpec(name="db", at="docker -H tcp://h exec -i db", port=5432).selected == ("port", "5432")


def test_ssh_never_prompts_on_the_terminal() -> None:
    command = command_of("/usr/bin/ssh -p 22 web1")
    assert command[0] == "/usr/bin/ssh"
    assert "-oBatchMode=yes" in command
    assert command[-4:] == ["-p", "22", "web1", "sh"]


def test_the_port_of_the_target_is_that_of_its_own_page() -> None:
    own = PartSpec(name="engine", prometheus="http://127.0.0.1:{port}/metrics")
    assert own.needs_port
    assert own.with_port(8080) == PartSpec(name="engine", prometheus="http://127.0.0.1:8080/metrics")
    other = PartSpec(name="db", port=5432, nginx="http://proxy/status")
    assert not other.needs_port
    assert other.with_port(8080) == other


@pytest.mark.parametrize("at", ["here", " here ", ""])
def test_here_is_this_machine_and_no_program_of_that_name(at: str) -> None:
    part = PartSpec(name="db", at=at, port=5432)
    assert (part.at, part.is_here, part.place) == ("", True, "here: port 5432")
    assert msgspec.convert({"name": "db", "at": at, "port": 5432}, PartSpec) == part


def test_a_server_whose_client_is_not_installed_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    part = parsed_part("cache=here:port 6379 redis=redis://127.0.0.1:6379")
    monkeypatch.setitem(CLIENTS, "redis", "no_such_module_is_installed")
    assert missing_client(part).startswith("cache.redis: needs no_such_module_is_installed: pip install")
    with pytest.raises(InputError, match=r"watch: cache\.redis: needs no_such"):
        watches_of([], (part,))
    monkeypatch.setitem(CLIENTS, "redis", "json")
    assert missing_client(part) == ""
