"""Containers of a Compose file: what is missing to run them, whether they are ready or have failed, and their end.

Replies of `docker inspect` are those that docker 20.10 and Compose 2.32 gave (tests/data/compose); `docker` is a small shell
script.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest
from msgspec.structs import replace

from capexplorer.errors import InputError, TargetError
from capexplorer.target.containers import (
    Container,
    ReportedContainer,
    changes,
    check_compose,
    compose_command,
    described,
    error_in,
    masked,
    read_containers,
    run_readiness,
    start_readiness,
    uses_port,
    write_containers,
)
from capexplorer.target.containers_process import left_behind, project_of
from capexplorer.target.ready import wait_until_ready
from capexplorer.target.spec import Ready, TargetSpec
from capexplorer.target.supervisor import Exited, Supervisor
from target.target_rig import TIMEOUT_S, Rig, becomes_true

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


@pytest.mark.parametrize(
    ("docker", "file", "expected"),
    [
        (None, "other.yaml", "no such file: FOLDER/other.yaml"),
        (None, "compose.yaml", "needs docker, which is not on PATH (Debian and Ubuntu: package docker.io)"),
        ("[ $1 = compose ] && echo 'not a docker command' >&2 && exit 1; exit 0", "compose.yaml", "needs Compose: "),
        ("[ $1 = version ] && echo 'Cannot connect.' >&2 && exit 1; exit 0", "compose.yaml",
         "docker's daemon does not answer: Cannot connect."),
        ("case $* in *config*) echo 'imagee is not allowed' >&2; exit 15;; esac", "compose.yaml",
         "FOLDER/compose.yaml: imagee is not allowed"),
        ("exit 0", "compose.yaml", "FOLDER/compose.yaml: expected at least one service"),
    ],
)  # fmt: skip
def test_what_is_missing_is_one_line_after_the_key(folder: Path, docker: str | None, file: str, expected: str) -> None:
    if docker is not None:
        program(folder, docker)
    with pytest.raises(InputError) as raised:
        check_compose(folder / file, "shop.toml: target.compose")
    text = str(raised.value)
    assert text.startswith("shop.toml: target.compose: " + expected.replace("FOLDER", str(folder))) and "\n" not in text


def test_the_plugin_is_preferred_to_the_program(folder: Path) -> None:
    program(folder, "exit 0", "docker-compose")
    assert compose_command() == ("docker-compose",)
    program(folder, "exit 0")
    assert compose_command() == ("docker", "compose")


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


DATA = Path(__file__).resolve().parents[1] / "data" / "compose"
STARTING = described(json.loads((DATA / "starting.json").read_text(encoding="utf-8")))
STARTED = described(json.loads((DATA / "started.json").read_text(encoding="utf-8")))
WEB = Container(id="1", name="x-web-1", service="web", status="running", health="healthy", pid=7)
STORE = Container(id="2", name="x-store-1", service="store", status="running", pid=8)


def container_of(service: str, among: tuple[Container, ...] = STARTED) -> Container:
    return next(each for each in among if each.service == service)


def test_containers_are_listed_by_service_and_number() -> None:
    assert [(each.service, each.number) for each in STARTED] == [
        ("again", 1), ("broken", 1), ("migration", 1), ("pool", 1), ("pool", 2), ("store", 1), ("web", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ("web", "health check healthy"),
        ("store", 'unhealthy: no answer: Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'),
        ("broken", "exited with code 3"),
        ("again", "restarting, exited with code 1"),
    ],
)
def test_the_state_of_a_container_in_words(service: str, words: str) -> None:
    assert container_of(service).state_in_words() == words


def test_a_service_that_exited_fails_the_start_although_others_run() -> None:
    verdict = start_readiness(STARTED, ["web"])
    assert (verdict.state, verdict.why) == ("failed", "broken: exited with code 3")
    assert verdict.container == container_of("broken")


def test_the_start_waits_for_health_for_restarts_and_for_services_without_a_container() -> None:
    well = [container_of(service, STARTING) for service in ("web", "pool", "again")]
    verdict = start_readiness(well, ["web", "pool", "again", "cache"])
    assert verdict.state == "waiting"
    assert verdict.why == "web (health check starting), again (restarting, exited with code 1), cache (not created)"


def test_services_are_ready_if_healthy_or_running_without_a_check_or_ended_with_code_0() -> None:
    well = [container_of("web"), container_of("pool"), container_of("migration")]
    assert start_readiness(well, ["web", "pool", "migration"]).state == "ready"
    assert start_readiness([container_of("migration")], ["migration"]).state == "failed", "all have ended"
    assert start_readiness([container_of("web"), container_of("store")], ["web", "store"]).state == "failed", "unhealthy"


@pytest.mark.parametrize(
    ("now", "began", "why"),
    [
        ([WEB, replace(STORE, status="exited", exit_code=0)], [WEB, STORE], "store: exited with code 0"),
        ([WEB, replace(STORE, status="exited", exit_code=137, was_out_of_memory=True)], [WEB, STORE],
         "store: exited with code 137, out of memory"),
        ([WEB], [WEB, STORE], "store: its container was removed"),
        ([WEB, container_of("migration")], [WEB, container_of("migration")], ""),
    ],
    ids=["ended", "ended for its memory", "removed", "had ended before"],
)  # fmt: skip
def test_a_service_that_ends_during_the_run_fails_it(now: list[Container], began: list[Container], why: str) -> None:
    verdict = run_readiness(now, began)
    assert (verdict.state, verdict.why) == ("failed" if why else "ready", why)


def test_a_service_that_fails_its_check_under_load_or_is_started_again_does_not_end_the_run() -> None:
    now = [replace(WEB, health="unhealthy", health_output="timeout\n"), replace(STORE, status="restarting", exit_code=1)]
    assert run_readiness(now, [WEB, STORE]).state == "ready"
    assert changes([WEB, STORE], now) == ["web: unhealthy: timeout", "store: restarting, exited with code 1"]
    assert changes(now, [WEB, STORE]) == ["web: healthy again", "store: healthy again"]
    assert changes(now, now) == []


def test_values_of_secret_variables_are_hidden_in_what_services_print() -> None:
    store = container_of("store")
    assert store.secrets == {"correct-horse-battery"}
    assert masked("password is correct-horse-battery, level debug", store.secrets) == "password is ***, level debug"
    assert "correct-horse-battery" not in repr([each.secrets for each in STARTED if each.service != "store"])


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


ENDS_SLOWLY = """
import signal, sys, time
def end(*_):
    time.sleep(0.5)
    open("removed", "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
signal.pause()
"""


class Running:
    """A supervisor whose run has started, and has ended if `end` is given."""

    output = ()

    def __init__(self, end: Exited | None = None) -> None:
        self.end = end

    def runs(self, run: int) -> bool:
        return True

    def exited(self, run: int) -> Exited | None:
        return self.end


def spec(folder: Path) -> TargetSpec:
    ready = Ready(timeout_s=0.01)
    return TargetSpec(title="", command=("x",), folder=folder, scratch=folder, given_name="shop", compose=True, ready=ready)


def why_not_ready(folder: Path, end: Exited | None = None) -> str:
    with pytest.raises(TargetError) as raised:
        wait_until_ready(cast(Supervisor, Running(end)), 1, spec(folder), 1, sleep=lambda _: None)
    return str(raised.value)


def test_containers_are_not_ready_before_all_are_well_even_if_another_process_answers_on_the_port(tmp_path: Path) -> None:
    assert why_not_ready(tmp_path).endswith("its services are not all well yet")
    write_containers([], spec(tmp_path).containers_file)
    assert why_not_ready(tmp_path).endswith(("connection refused", "no answer")), "a busy machine may take 10 ms to refuse"


def test_containers_that_end_at_the_start_are_reported_with_their_own_last_line(tmp_path: Path) -> None:
    end = Exited(1, code=1, output=("store | no space left", "store: exited with code 3"))
    assert why_not_ready(tmp_path, end) == "shop: store: exited with code 3"


def test_containers_of_a_daemon_elsewhere_are_not_here_and_those_that_ended_are_not_reported(tmp_path: Path) -> None:
    web = Container(id="e" * 64, name="p-web-1", service="web", status="running", pid=1)
    migration = Container(id="f" * 64, name="p-migration-1", service="migration", status="exited")
    write_containers([web, migration], tmp_path / "containers.json")
    assert read_containers(tmp_path / "containers.json") == [ReportedContainer("web", "p-web-1", is_here=False)]


def test_containers_are_removed_before_their_process_is_killed_however_short_the_grace(rig: Rig) -> None:
    target = msgspec.structs.replace(rig.target(ENDS_SLOWLY), compose=True)
    rig.supervisor.start(target, {}, 1)
    assert rig.printed("up")
    rig.supervisor.close(grace_s=0.01)
    assert (target.folder / "removed").exists()
