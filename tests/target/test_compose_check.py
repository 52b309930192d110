"""Whatever is missing to run a Compose file is reported in one line. `docker` is a small shell script here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capexplorer.errors import InputError
from capexplorer.target.containers import check_compose, compose_command, error_in, uses_port
from capexplorer.target.containers_process import left_behind, project_of

ALL_WELL = """case "$*" in
*"config --services") echo web ;;
*) echo 1 ;;
esac"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "compose.yaml").write_text("services: {web: {image: x, ports: ['${CAPEXPLORER_PORT}:80']}}\n")
    return tmp_path


def program(folder: Path, body: str, name: str = "docker") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def refusal(folder: Path, file: str = "compose.yaml") -> str:
    with pytest.raises(InputError) as raised:
        check_compose(folder / file, "shop.toml: target.compose")
    text = str(raised.value)
    assert text.startswith("shop.toml: target.compose: ") and "\n" not in text
    return text.removeprefix("shop.toml: target.compose: ")


def test_a_missing_compose_file_is_named(folder: Path) -> None:
    assert refusal(folder, "other.yaml") == f"no such file: {folder}/other.yaml"


def test_missing_docker_is_named_with_its_package(folder: Path) -> None:
    assert "needs docker, which is not on PATH" in refusal(folder) and "docker.io" in refusal(folder)


def test_missing_compose_is_named_with_its_package(folder: Path) -> None:
    program(folder, "[ $1 = compose ] && echo \"docker: 'compose' is not a docker command.\" >&2 && exit 1; exit 0")
    assert "needs Compose" in refusal(folder) and "docker-compose-plugin" in refusal(folder)


def test_the_plugin_is_preferred_to_the_program(folder: Path) -> None:
    program(folder, "exit 0", "docker-compose")
    assert compose_command() == ("docker-compose",)
    program(folder, "exit 0")
    assert compose_command() == ("docker", "compose")


def test_a_daemon_that_does_not_answer_is_refused_with_its_error(folder: Path) -> None:
    program(folder, "[ $1 = version ] && echo 'Cannot connect to the Docker daemon at unix:///x.sock.' >&2 && exit 1; exit 0")
    assert refusal(folder) == "docker's daemon does not answer: Cannot connect to the Docker daemon at unix:///x.sock."


def test_an_invalid_compose_file_is_refused_with_its_error(folder: Path) -> None:
    program(folder, "case $* in *config*) echo 'services.web Additional property imagee is not allowed' >&2; exit 15;; esac")
    assert refusal(folder) == f"{folder}/compose.yaml: services.web Additional property imagee is not allowed"


def test_a_compose_file_without_services_is_refused(folder: Path) -> None:
    program(folder, "exit 0")
    assert refusal(folder) == f"{folder}/compose.yaml: expected at least one service"


def test_a_valid_file_with_docker_and_compose_passes_the_check(folder: Path) -> None:
    program(folder, ALL_WELL)
    check_compose(folder / "compose.yaml", "--compose")
    assert uses_port(folder / "compose.yaml")


def test_warnings_of_compose_are_not_its_error() -> None:
    printed = 'no such service: db\ntime="2026" level=warning msg="the attribute `version` is obsolete"\n\n'
    assert error_in(printed) == "no such service: db"


def test_a_project_is_left_behind_when_its_supervisor_is_gone_and_only_if_it_was_of_this_machine() -> None:
    gone = _ended_pid()
    assert left_behind(project_of(gone))
    assert not left_behind(project_of(os.getpid()))
    assert not left_behind(f"capexplorer-00000000-{gone}")
    assert not left_behind("shop")


def _ended_pid() -> int:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return pid
