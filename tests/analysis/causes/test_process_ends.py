"""How a process of the target ended: which cause is marked, and when its mark closes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from capexplorer.model.events import Target, TargetFacts

from ..seconds import (
    LINUX,
    REFUSED,
    RESET,
    cause_marks,
    died,
    failed,
    latest_by_id,
    second,
    seconds,
    target,
)

NOT_STARTED_HERE = msgspec.structs.replace(LINUX, target=TargetFacts(name="served", url="http://127.0.0.1:28080"))
ALL_REFUSED = failed("ConnectionRefusedError", errno=111, count=100)
PROCESS_ENDED: dict[str, Any] = target(alive=False, listen_queue=None, listen_backlog=None)


def ends(**how: int) -> dict[str, Any]:
    return target(alive=False, listen_queue=None, listen_backlog=None, processes_ended=1, ended_by=how)


@pytest.mark.parametrize(
    ("why", "end", "expected", "reported"),
    [
        ("by a signal", ends(SIGSEGV=1), "target_killed_by_signal", {"signal": "SIGSEGV"}),
        ("by SIGKILL", ends(SIGKILL=1), "target_killed_by_signal", {"signal": "SIGKILL"}),
        ("by SIGKILL for lack of memory", target(alive=False, processes_ended=1, ended_by={"SIGKILL": 1}, oom_kills=1),
         "target_oom_killed", {"oom_kills": 1}),
        ("by itself", ends(**{"exit 3": 1}), "target_crashed", {"exit_code": 3}),
        ("with exit code 0", ends(**{"exit 0": 1}), "connection_refused", {"target_alive": False}),
        ("in an unknown way", ends(), "connection_refused", {"target_alive": False}),
    ],
)  # fmt: skip
def test_the_end_of_a_service_that_ran_before_the_session_is_marked_by_how_it_ended(
    why: str, end: dict[str, Any], expected: str, reported: dict[str, Any]
) -> None:
    down = [second(6, failed("ConnectionResetError", errno=104, count=9), **end), *seconds(7, 12, ALL_REFUSED, **PROCESS_ENDED)]
    marks = cause_marks([*seconds(2, 5), *down], header=NOT_STARTED_HERE)
    [mark] = [mark for mark in latest_by_id(marks).values() if mark.id != "connection_reset"]
    assert mark.id == expected
    assert mark.state in ("open", "updated")
    assert reported.items() <= mark.finding.figures().items()


def test_the_mark_of_the_end_of_a_service_that_ran_before_the_session_closes_when_requests_succeed_again() -> None:
    events = [
        *seconds(2, 5),
        second(6, RESET, **ends(SIGKILL=1)),
        *seconds(7, 12, ALL_REFUSED, **PROCESS_ENDED),
        *seconds(13, 20, **PROCESS_ENDED),
    ]
    marks = cause_marks(events, header=NOT_STARTED_HERE)
    assert [(mark.id, mark.state) for mark in marks][-1] == ("target_killed_by_signal", "closed")
    assert set(latest_by_id(marks)) == {"target_killed_by_signal"}


def test_the_end_of_one_worker_is_not_the_end_of_the_service() -> None:
    events = [*seconds(2, 5), second(6, RESET, **ends(SIGKILL=1)), *seconds(7, 20, **PROCESS_ENDED)]
    assert not {"target_killed_by_signal", "target_crashed"} & set(latest_by_id(cause_marks(events, header=NOT_STARTED_HERE)))


def test_the_mark_of_a_crash_closes_after_the_target_is_ready_again() -> None:
    crash = [died(5.5, exit_code=3, output=("Traceback", "KeyError: 1")), *seconds(6, 30, REFUSED), *seconds(31, 60)]
    marks = cause_marks(
        [*seconds(2, 5), *crash, Target(t_s=60.2, state="starting"), Target(t_s=61.0, state="ready"), *seconds(62, 70)]
    )
    assert (marks[0].state, marks[-1].state, marks[-1].t_s) == ("open", "closed", 62.0)
    assert set(latest_by_id(marks)) == {"target_crashed"}
    assert marks[-1].finding.figures()["failures"] == 125
    assert marks[-1].finding.figures()["deaths"] == 1
    assert (marks[-1].finding.figures()["exit_code"], marks[-1].finding.figures()["output"]) == (3, "Traceback / KeyError: 1")
