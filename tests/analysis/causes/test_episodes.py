"""How a cause is reported: counts, examples and readings, when its mark opens, changes and closes, and what competes with it."""

from __future__ import annotations

import msgspec
import pytest

from capexplorer.analysis.causes.episode import Episodes, Occurrence
from capexplorer.model.events import Ended, Event, LevelOpened, Target
from capexplorer.model.load import Users

from ..seconds import (
    ERROR_500,
    FACTS,
    LINUX,
    NO_PORT,
    NOTHING_READ,
    PORTS_IN_TIME_WAIT,
    RESET,
    STARVED_GENERATOR,
    TIMED_OUT,
    cause_marks,
    died,
    failed,
    latest_by_id,
    ports,
    second,
    seconds,
    target,
)


def test_a_mark_carries_counts_endpoints_an_example_and_readings() -> None:
    full = ports(used=28_200, time_wait=28_000, established=200)
    bursts = [second(2, NO_PORT, **full), second(3, NO_PORT, failed("OSError", errno=99, name="/b", count=2), **full)]
    marks = cause_marks([*bursts, Ended(t_s=4.0, reason="quit")])
    assert [(mark.key, mark.state, mark.revision, mark.users, mark.kind) for mark in marks] == [
        (f"cause:{PORTS_IN_TIME_WAIT}:epoch0", "open", 1, 10, "cause"),
        (f"cause:{PORTS_IN_TIME_WAIT}:epoch0", "updated", 2, 10, "cause"),
    ]
    assert marks[-1].finding.figures() == {
        "count": 12, "first_s": 2.0, "last_s": 3.0, "rate_per_s": 6.0, "endpoints": {"GET /a": 10, "GET /b": 2},
        "example": "Cannot assign requested address", "ports_used": 28_200, "ports_capacity": 28_232, "time_wait": 28_000,
        "established": 200, "destination": "127.0.0.1:28080", "unavailable": [], "competing": [],
    }  # fmt: skip
    assert marks[-1].confidence == "high"


def test_an_example_is_one_failure_in_full_even_if_a_later_tick_opens_the_mark() -> None:
    lost = failed("CatchResponseError", text="lost_updates")
    full = msgspec.structs.replace(lost, example="lost_updates: expected 90, read 60")
    [mark] = cause_marks([second(2, full), second(3, lost)])
    assert (mark.finding.figures()["example"], mark.finding.figures()["check"]) == (
        "lost_updates: expected 90, read 60",
        "lost_updates",
    )
    reset = msgspec.structs.replace(RESET, example="[Errno 104] Connection reset by peer")
    [mark] = cause_marks([second(2, reset), second(3), second(4)])
    assert mark.finding.figures()["example"] == "[Errno 104] Connection reset by peer"


def test_churn_that_ends_in_exhausted_ports_has_the_ports_as_its_alternative_cause() -> None:
    episodes, seen = Episodes(), Occurrence(t_s=1.0, load=Users(10))
    for id_ in ("connection_churn", "server_error", PORTS_IN_TIME_WAIT):
        episodes.add(id_, 0, seen)
    reported = {mark.id: mark.finding.figures()["competing"] for mark in episodes.marks_to_publish(1.0, Users(10))}
    assert reported == {"connection_churn": [], "server_error": [PORTS_IN_TIME_WAIT], PORTS_IN_TIME_WAIT: []}


@pytest.mark.parametrize(
    ("why", "events", "within_s"),
    [
        ("one failure suffices", [second(2, ERROR_500)], 0.0),
        ("readings confirm it", [second(2, TIMED_OUT, **target(listen_queue=200))], 0.0),
        ("nothing confirms it", [second(2, RESET), second(3)], 1.0),
        ("a death, by its exit code", [died(1.5, exit_code=1), second(2)], 0.5),
        ("a death, by the kernel's count", [died(1.5, signal="SIGKILL"), second(2), second(3)], 1.5),
    ],
)
def test_a_mark_opens_as_soon_as_readings_confirm_it(why: str, events: list[Event], within_s: float) -> None:
    happened_s = 1.5 if isinstance(events[0], Target) else 2.0
    [mark] = cause_marks(events)
    assert mark.t_s - happened_s == within_s


def test_a_mark_is_updated_every_ten_seconds_at_most_and_its_last_count_is_exact() -> None:
    marks = cause_marks([*seconds(2, 601, ERROR_500), *seconds(602, 640)])
    assert [mark.state for mark in (marks[0], marks[-1])] == ["open", "closed"]
    assert len(marks) < 25
    assert {mark.state for mark in marks[1:-1]} == {"updated"}
    gaps = [later.t_s - earlier.t_s for earlier, later in zip(marks, marks[1:-1], strict=False)]
    assert min(gaps) >= 10.0
    assert marks[-1].finding.figures()["count"] == 3000
    assert marks[-1].finding.figures()["last_s"] == 601.0


def test_a_cause_closes_when_it_stops_and_reopens_when_it_recurs() -> None:
    marks = cause_marks([*seconds(2, 5, ERROR_500), *seconds(6, 29), *seconds(30, 31, ERROR_500), *seconds(32, 50)])
    assert [(mark.state, mark.t_s) for mark in marks] == [
        ("open", 2.0), ("updated", 12.0), ("closed", 15.0), ("open", 30.0), ("closed", 41.0),
    ]  # fmt: skip
    assert marks[-1].finding.figures()["count"] == 30
    assert marks[-1].finding.figures()["episodes"] == 2
    assert (marks[-1].finding.figures()["first_s"], marks[-1].finding.figures()["since_s"]) == (2.0, 30.0)


def test_a_cause_closes_sooner_after_a_step_down() -> None:
    marks = cause_marks([*seconds(2, 5, ERROR_500), *seconds(6, 20, users=5)])
    assert marks[-1].state == "closed"
    assert marks[-1].t_s == 10.0


def test_failures_that_are_far_apart_are_one_episode() -> None:
    rare = [second(float(t_s), *([ERROR_500] if t_s % 8 == 0 else [])) for t_s in range(2, 100)]
    assert [mark.state for mark in cause_marks(rare)].count("closed") == 0


def test_failures_that_a_retry_hid_count_towards_the_cause() -> None:
    [mark] = cause_marks([second(2, retried=(RESET,)), second(3)])
    assert mark.finding.figures()["count"] == mark.finding.figures()["retried"] == 5


def test_readings_that_could_not_be_taken_are_listed_as_unavailable() -> None:
    marks = cause_marks([*seconds(2, 4, TIMED_OUT, **NOTHING_READ)])
    assert set(marks[-1].finding.figures()["unavailable"]) >= {
        "target_fds",
        "listen_queue",
        "listen_overflows",
        "segments_retransmitted",
    }
    assert marks[-1].finding.figures()["symptoms"] == {"read_timeout": 5}
    assert marks[-1].confidence == "low"


def test_simultaneous_causes_name_each_other() -> None:
    found = latest_by_id(cause_marks(seconds(2, 30, ERROR_500, **STARVED_GENERATOR)))
    assert found["server_error"].finding.figures()["competing"] == ["generator_cpu_saturated"]
    assert found["generator_cpu_saturated"].finding.figures()["competing"] == []
    both = seconds(2, 5, TIMED_OUT, **target(listen_queue=200, fds_fullest=1024))
    [mark] = cause_marks(both)
    assert mark.id == "fd_exhaustion_target"
    assert mark.finding.figures()["competing"] == ["listen_backlog_overflow"]


def test_failed_checks_are_distinguished_by_name_up_to_a_limit() -> None:
    many = [second(float(2 + each), failed("CatchResponseError", text=f"check_{each}")) for each in range(30)]
    keys = {mark.key for mark in cause_marks(many)}
    assert "cause:failed_check:check_3:epoch0" in keys
    assert "cause:failed_check:others:epoch0" in keys
    assert len(keys) == 21


def test_each_epoch_has_its_own_marks() -> None:
    later = LevelOpened(t_s=6.0, index=1, users=10, spawn_rate=1.0, by="user", epoch=1)
    marks = cause_marks([*seconds(2, 5, ERROR_500), later, *seconds(7, 8, ERROR_500)])
    assert [(mark.key, mark.state) for mark in marks] == [
        ("cause:server_error:epoch0", "open"),
        ("cause:server_error:epoch0", "closed"),
        ("cause:server_error:epoch1", "open"),
    ]
    assert marks[1].finding.figures()["count"] == 20


def test_ports_that_no_system_call_reads_are_listed_with_a_low_confidence() -> None:
    windows = msgspec.structs.replace(LINUX, host=msgspec.structs.replace(FACTS, system="Windows"))
    [mark] = cause_marks(seconds(2, 4, failed("OSError", errno=10048), **NOTHING_READ), header=windows)
    assert (mark.id, mark.confidence) == (PORTS_IN_TIME_WAIT, "low")
    assert mark.finding.figures()["unavailable"] == ["ports_used", "ports_capacity"]
