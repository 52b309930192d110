"""Containers as a target: when they are ready, and how long they may take to end."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec
import pytest

from capexplorer.errors import TargetError
from capexplorer.target.containers import Container, ReportedContainer, read_containers, write_containers
from capexplorer.target.ready import wait_until_ready
from capexplorer.target.spec import Ready, TargetSpec
from capexplorer.target.supervisor import Exited, Supervisor
from target.target_rig import Rig

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
