"""What a run explores: what the command line says, else the profile's command, URL or target."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.commands.resolving import RunArguments, resolve

TASK = '[users]\n[[users.task]]\nname = "/"\n'


def profile(folder: Path, service: str) -> str:
    (path := folder / "shop.toml").write_text(f"{service}\n{TASK}")
    return str(path)


@pytest.mark.parametrize("service", ["", 'url = "http://127.0.0.1:9"', 'command = "other {port}"', 'target = "mixed"'])
def test_a_command_on_the_command_line_satisfies_any_profile(service: str, tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, service), target_cmd="./shop --port {port}", ready="/up"))
    assert found.spec is not None and found.url is None
    assert (found.spec.command, found.spec.ready.path, found.spec.folder) == (("./shop", "--port", "{port}"), "/up", Path.cwd())


@pytest.mark.parametrize("service", ["", 'url = "http://127.0.0.1:9"', 'command = "other {port}"', 'target = "mixed"'])
def test_a_url_on_the_command_line_satisfies_any_profile(service: str, tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, service), host="http://127.0.0.1:7"))
    assert (found.spec, found.url) == (None, "http://127.0.0.1:7")


def test_the_command_of_a_profile_runs_in_its_folder(tmp_path: Path) -> None:
    service = 'command = "./shop --port {port}"\nready = "/up"\nready_timeout_s = 7'
    found = resolve(RunArguments(profile=profile(tmp_path, service)))
    assert found.spec is not None and found.port is None
    assert (found.spec.name, found.spec.folder) == ("shop", tmp_path)
    assert (found.spec.ready.path, found.spec.ready.timeout_s, found.spec.ready.any_status) == ("/up", 7.0, False)


def test_a_command_with_a_fixed_port_is_checked_at_that_port(tmp_path: Path) -> None:
    service = 'command = "./shop"\nready = "http://127.0.0.1:8123/up?deep=1"'
    found = resolve(RunArguments(profile=profile(tmp_path, service)))
    assert found.spec is not None
    assert (found.port, found.spec.ready.path) == (8123, "/up?deep=1")


def test_without_a_readiness_path_any_status_counts(tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, 'command = "./shop {port}"')))
    assert found.spec is not None and found.spec.ready.any_status
