"""Which program the service is, and whether it is one Python process, which one interpreter lock limits."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario, header

from capexplorer.analysis.epoch.neighbours import is_one_python_process, program_of
from capexplorer.model.events import Event, Target
from capexplorer.model.timeline import Timeline, pid_of


def session(*events: Event, command: tuple[str, ...] = ()) -> Timeline:
    return Scenario(header(target={"command": command}), *events).timeline


def ready(epoch: int, pid: int, program: str | None = None) -> Target:
    return Target(t_s=1.0, state="ready", epoch=epoch, pid=pid, program=program)


@pytest.mark.parametrize(
    ("timeline", "program"),
    [
        (Timeline(), None),
        (session(), None),
        (session(command=("/usr/bin/python3.11", "serve.py")), "python3.11"),
        (session(command=(r"C:\python\python.exe",)), "python.exe"),
        (session(ready(0, 1, "nginx"), command=("./start.sh",)), "nginx"),
    ],
    ids=["no header", "not started here", "by its command", "by a command of Windows", "as the system reports it"],
)
def test_the_program_is_the_one_reported_by_the_system_or_else_that_of_the_command(
    timeline: Timeline, program: str | None
) -> None:
    assert program_of(timeline) == program


@pytest.mark.parametrize(
    ("program", "processes", "one"),
    [("python3.11", 1.0, True), ("python3.11", 2.0, True), ("python3.11", 4.0, False), ("nginx", 1.0, False), (None, None, False),
     ("python", None, True)],
)  # fmt: skip
def test_only_a_python_service_of_at_most_two_processes_is_one_python_process(
    program: str | None, processes: float | None, one: bool
) -> None:
    assert is_one_python_process(program, processes) is one


def test_the_pid_of_an_epoch_is_that_of_its_latest_start() -> None:
    timeline = session(ready(0, 10), ready(0, 11), Target(t_s=2.0, state="stopped"), ready(1, 20))
    assert [pid_of(timeline, epoch) for epoch in (0, 1, 2)] == [11, 20, None]
