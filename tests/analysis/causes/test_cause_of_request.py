"""Failed requests of a session, and the causes that count them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from capexplorer.analysis.causes.resolve import belongs_to_mark
from capexplorer.model.events import Ended, Event, FailureTick, Mark, Sample
from capexplorer.model.findings import Cause
from capexplorer.model.kept_request import RequestBrief
from capexplorer.model.timeline import Timeline

from ..seconds import (
    LINUX,
    NO_PORT,
    PORTS_ESTABLISHED,
    PORTS_IN_TIME_WAIT,
    RESET,
    TIMED_OUT,
    cause_marks,
    failed,
    latest_by_id,
    ports,
    seconds,
    target,
)
from .test_cause_detector import BLAMED

SHED, LOST, SOLD_OUT = (
    failed("LocustBadStatusCode", status=503),
    failed("CatchResponseError", text="lost_updates"),
    failed("CatchResponseError", text="sold_out"),
)


def requests(events: Sequence[Event]) -> list[RequestBrief]:
    """One of each failure of each second, half a second before that second's end."""
    return [
        RequestBrief(t_s=event.t_s - 0.5, method=failure.method, name=failure.name, error="?", kind=failure.signature.kind)
        for event in events
        if isinstance(event, Sample)
        for failure in event.failures
    ]


def requests_of_cause(mark: Mark, events: Sequence[Event], kept: Sequence[RequestBrief]) -> list[RequestBrief]:
    counts = belongs_to_mark(mark, Timeline([LINUX, *events]))
    return [brief for brief in kept if counts(brief)]


@pytest.mark.parametrize(("why", "events"), [case[:2] for case in BLAMED], ids=[why for why, _, _ in BLAMED])
def test_every_failure_of_a_session_belongs_to_one_of_its_causes(why: str, events: list[Event]) -> None:
    marks = latest_by_id(cause_marks([*events, Ended(t_s=60.0, reason="quit")])).values()
    kept = requests(events)
    counted = [brief for mark in marks for brief in requests_of_cause(mark, events, kept)]
    assert [brief for brief in kept if brief not in counted] == []
    for mark in marks:
        if isinstance(mark.finding, Cause) and mark.finding.endpoints and not mark.finding.counted:
            assert requests_of_cause(mark, events, kept), f"no request of {mark.key}"


@pytest.mark.parametrize(
    ("events", "found", "failure"),
    [
        ([*seconds(2, 9, SHED), *seconds(10, 12, LOST)], "load_shedding", SHED),
        ([*seconds(2, 9, SHED, LOST)], "failed_check", LOST),
        ([*seconds(2, 9, SOLD_OUT, LOST)], "failed_check", None),
        ([*seconds(2, 9, RESET, TIMED_OUT, **target(listen_queue=129))], "listen_backlog_overflow", TIMED_OUT),
        ([*seconds(2, 9, NO_PORT, SHED, **ports(used=28_232, time_wait=28_000, established=200))], PORTS_IN_TIME_WAIT, NO_PORT),
    ],
)
def test_a_cause_counts_no_failure_of_another_kind(events: list[Event], found: str, failure: FailureTick | None) -> None:
    marks = [mark for mark in cause_marks([*events, Ended(t_s=60.0, reason="quit")]) if mark.id == found and mark.revision == 1]
    assert marks
    for mark in marks:
        assert isinstance(mark.finding, Cause)
        expected = failure.signature.kind if failure is not None else f"CatchResponseError {mark.finding.check}"
        assert {brief.kind for brief in requests_of_cause(mark, events, requests(events))} == {expected}, mark.key


def test_a_kind_of_failure_belongs_to_the_cause_of_its_second() -> None:
    waiting, established = ports(used=28_232, time_wait=28_000, established=200), ports(used=28_000, established=27_990)
    events = [*seconds(2, 5, NO_PORT, **waiting), *seconds(6, 40), *seconds(41, 44, NO_PORT, **established)]
    marks = latest_by_id(cause_marks([*events, Ended(t_s=60.0, reason="quit")]))
    assert {brief.t_s for brief in requests_of_cause(marks[PORTS_IN_TIME_WAIT], events, requests(events))} == {1.5, 2.5, 3.5, 4.5}
    assert {brief.t_s for brief in requests_of_cause(marks[PORTS_ESTABLISHED], events, requests(events))} == {
        40.5,
        41.5,
        42.5,
        43.5,
    }
