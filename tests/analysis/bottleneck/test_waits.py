"""No resource limits the service: think time limits the throughput, or no limit is reached."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.loads import Load, closed_session
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.epoch.epoch import epoch_of

from .levels import LINEAR, UNREAD_TARGET, bottleneck_marks


def waiting(users: int, latency_ms: float, wait_s: float, **more: Any) -> Load:
    """A level whose throughput follows from Little's law."""
    return Load(users, users / (latency_ms / 1000 + wait_s), latency_ms, wait_s=wait_s, **more)


def test_the_first_level_is_enough_to_report_think_time_as_the_limit() -> None:
    """50 users with think times of 0.5 to 1.5 s on a fast server."""
    marks = bottleneck_marks(waiting(50, 3.0, 1.0))
    assert list(marks) == ["think_time_limited"]
    mark = marks["think_time_limited"]
    assert (mark.users, mark.state, mark.severity) == (50, "open", "info")
    assert mark.finding.figures()["wait_s"] == 1.0
    assert mark.finding.figures()["throughput_rps"] == pytest.approx(49.9, abs=0.1)
    assert mark.finding.figures()["expected_rps"] == pytest.approx(49.9, abs=0.1)


WAITS: list[tuple[str, tuple[Load, ...], bool]] = [
    ("responses of 2 ms instead of 1 ms in a cycle of a second", (waiting(5, 1.0, 1.0), waiting(50, 2.0, 1.0)), True),
    ("the think time is three times the response time", (waiting(50, 330.0, 1.0),), True),
    ("the think time is less than three times the response time", (waiting(50, 350.0, 1.0),), False),
    ("the think time is unknown", (Load(50, 50, 3.0),), False),
    ("less throughput than Little's law gives", (Load(50, 40, 3.0, wait_s=1.0),), False),
    ("too few requests", (waiting(2, 3.0, 1.0),), False),
    ("the response time has doubled", (waiting(5, 150.0, 1.0), waiting(50, 300.0, 1.0)), False),
    ("failures", (waiting(50, 3.0, 1.0, failure_ratio=0.2),), False),
    ("tasks as long as before", tuple(waiting(users, 1.0, 1.0, figures={"task_s": 0.2}) for users in (2, 50)), True),
    ("who polls waits longer", tuple(waiting(users, 1.0, 1.0, figures={"task_s": 0.1 * users}) for users in (2, 50)), False),
]  # fmt: skip


@pytest.mark.parametrize(("why", "loads", "limited"), WAITS, ids=[each[0] for each in WAITS])
def test_think_time_is_the_limit_if_it_is_most_of_the_cycle_and_response_times_are_flat(
    why: str, loads: tuple[Load, ...], limited: bool
) -> None:
    marks = bottleneck_marks(*loads)
    assert {id_: mark.users for id_, mark in marks.items() if id_ == "think_time_limited"} == (
        {"think_time_limited": 50} if limited else {}
    )


def test_the_pace_of_users_limits_the_throughput_even_if_responses_take_longer() -> None:
    """One task per second and user: 24 users make 24/s while a response takes 600 ms, and wait for 400 ms."""
    paced = [Load(users, users, ms, wait_s=1 - ms / 1000) for users, ms in ((6, 100), (12, 250), (24, 600))]
    (mark,) = bottlenecks.marks(epoch_of(closed_session(*paced, pacing_s=1.0), 0))
    assert (mark.id, mark.users, mark.finding.figures()["pacing_s"]) == ("think_time_limited", 24, 1.0)


def test_users_whose_tasks_take_longer_than_their_pace_are_not_limited_by_it() -> None:
    paced = [Load(users, min(users, 24), ms, wait_s=0.0) for users, ms in ((6, 100), (24, 990), (48, 2000), (72, 3000))]
    marks = bottlenecks.marks(epoch_of(closed_session(*paced, pacing_s=1.0), 0))
    assert [mark.users for mark in marks if mark.id == "think_time_limited"] in ([], [24])


def test_think_time_is_not_the_limit_beyond_the_knee() -> None:
    ladder = [waiting(users, 100.0, 1.0) for users in (5, 10, 20, 40)] + [
        Load(80, 40, 900, wait_s=1.0),
        Load(160, 40, 2900, wait_s=1.0),
    ]
    marks = bottleneck_marks(*ladder)
    assert marks["think_time_limited"].state == "closed"
    assert marks["think_time_limited"].users == 40
    assert marks["lock_or_pool_limit"].state == "open"


def test_a_level_with_fewer_users_does_not_close_the_mark_of_think_time() -> None:
    """The levels with one user have too few requests for a mark."""
    marks = bottleneck_marks(waiting(1, 3.0, 1.5), waiting(50, 3.0, 1.0), waiting(1, 3.0, 1.5))
    assert [(mark.id, mark.users, mark.state) for mark in marks.values()] == [("think_time_limited", 50, "open")]


def test_not_saturated_names_the_busiest_resource() -> None:
    marks = bottleneck_marks(*LINEAR[:2], Load(8, 78, 52, readings={"host.disk_busy_ratio": 0.71}))
    assert list(marks) == ["not_saturated"]
    assert marks["not_saturated"].confidence == "high"
    assert bottleneck_marks(LINEAR[0])["not_saturated"].confidence == "low"
    assert marks["not_saturated"].finding.figures()["busiest"] == "disk 0.71"
    assert marks["not_saturated"].users == 8


@pytest.mark.parametrize(
    ("why", "load"),
    [
        ("a resource near its end", Load(50, 100, 200, readings={"target.cpu_ratio": 3.7})),
        ("too few requests", Load(1, 0.8, 50)),
        ("too few seconds", Load(50, 100, 200, seconds=2.0)),
        ("failures", Load(50, 100, 200, failure_ratio=0.3)),
        ("no request succeeded", Load(50, 0.0, 200)),
        ("no readings of the target", Load(50, 100, 200, unread=UNREAD_TARGET)),
        ("the generator was saturated", Load(50, 100, 200, figures={"generator_cpu_ratio": 0.99, "loop_lag_p99_ms": 80.0})),
        ("no users", Load(0, 0.0, 0.0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_not_saturated_is_not_marked_without_evidence(why: str, load: Load) -> None:
    timeline = closed_session(load)
    assert list(bottlenecks.marks(epoch_of(timeline, 0))) == []
