"""The current detectors on a recorded session: what is compared, what is reported, and what replaces the recorded marks."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from kit.scenario import HEADER
from marked import marked

from capexplorer.analysis.reanalysis import DETECTORS, changes, detect, reanalyse, reanalysed_events, with_marks
from capexplorer.model.events import Ended, Event, FigureChange, LevelOpened, Mark, Note, Reanalysed
from capexplorer.model.findings import Cause, Readings, StopRule
from capexplorer.model.timeline import Timeline
from capexplorer.session.codec import decode, encode


def knee(users: float = 28.0, t_s: float = 20.0, **changes: Any) -> Mark:
    mark = marked(
        t_s=t_s, key="knee:0", state="open", kind="knee", id="knee", users=users, confidence="high",
        evidence=changes.pop("evidence", {"capacity_rps": 213.5, "users_low": 25.0}),
    )  # fmt: skip
    return msgspec.structs.replace(mark, **changes)


def cause_with(readings: Readings) -> Mark:
    return msgspec.structs.replace(cause(), finding=Cause(name="ports_exhausted", readings=readings))


def cause(t_s: float = 30.0, **changes: Any) -> Mark:
    mark = marked(t_s=t_s, key="cause:ports", state="open", kind="cause", id="ports_exhausted", evidence={"count": 7})
    return msgspec.structs.replace(mark, **changes)


def session(*marks: Mark) -> list[Event]:
    level = LevelOpened(t_s=1.0, index=0, users=28, spawn_rate=1.0, by="user")
    body = sorted([level, Note(t_s=25.0, text="a note"), *marks], key=lambda event: event.t_s)
    return [HEADER, *body, Ended(t_s=60.0, reason="quit")]


def detector_of(*marks: Mark) -> Any:
    """A detector that finds these marks in every timeline."""
    return lambda timeline: marks


@pytest.mark.parametrize(
    ("why", "recorded", "found", "expected"),
    [
        ("no marks, recorded or found", [], [], []),
        ("an equal mark", [knee()], [knee()], []),
        ("a new mark", [], [knee()], [("new", "knee:0", ())]),
        ("a mark that is not found", [knee()], [], [("gone", "knee:0", ())]),
        ("another user count", [knee(28.0)], [knee(31.0)], [("changed", "knee:0", ("users",))]),
        ("another confidence", [knee()], [knee(confidence="low")], [("changed", "knee:0", ("confidence",))]),
        ("another figure of the evidence", [knee()], [knee(evidence={"capacity_rps": 200.0, "users_low": 25.0})],
         [("changed", "knee:0", ("capacity_rps",))]),
        ("a further figure of the evidence", [knee()], [knee(evidence={"capacity_rps": 213.5, "users_low": 25.0,
         "limit": "errors"})],
         [("changed", "knee:0", ("limit",))]),
        ("another time and revision", [knee()], [knee(t_s=3.0, revision=4)], []),
        ("users that differ by rounding", [knee(28.0)], [knee(28.0 * (1 + 1e-9))], []),
        ("another mark instead", [cause()], [knee()], [("new", "knee:0", ()), ("gone", "cause:ports", ())]),
        ("a retracted mark", [knee(state="retracted")], [], []),
        ("a retracted mark that is found", [knee(state="retracted")], [knee()], [("new", "knee:0", ())]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_changes_are_listed_by_key_with_their_figures(
    why: str, recorded: list[Mark], found: list[Mark], expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    result = reanalyse(Timeline(session(*recorded)), [detector_of(*found)])
    assert [(each.kind, each.key, tuple(figure.name for figure in each.figures)) for each in result.changes] == expected
    assert list(result.found) == found


def test_the_latest_revision_of_a_recorded_mark_is_compared() -> None:
    result = reanalyse(
        Timeline(session(knee(20.0, 10.0), knee(28.0, 20.0, revision=2, state="updated"))), [detector_of(knee(28.0))]
    )
    assert result.changes == ()
    assert [mark.users for mark in result.recorded] == [28.0]


@pytest.mark.parametrize(
    "evidence",
    [{"nested": {"a": 1}}, {"ratio": 1, "ok": True, "text": "é"}, {}],
)
def test_rounding_by_the_log_is_not_a_change(evidence: Readings) -> None:
    mark = cause_with(evidence)
    read = decode(encode(mark))
    assert isinstance(read, Mark)
    assert changes([read], [mark]) == ()


@pytest.mark.parametrize(
    ("then", "now"),
    [(1, True), ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}), ("a", "b"), (math.nan, 1.0), (0, 1e-3)],
)
def test_another_value_is_a_change(then: Any, now: Any) -> None:
    [change] = changes([cause_with({"x": then})], [cause_with({"x": now})])
    assert change.figures == (FigureChange(name="x", recorded=then, found=now),) or math.isnan(change.figures[0].recorded)


MADE_LIVE = [
    {"key": "own", "finding": StopRule(rule="p95_ms", limit=300.0, measured=420.0, level=0)},
    {"key": "cause:user_code_error", "finding": Cause(name="user_code_error", count=1)},
    {"key": "cause:log_write_failed", "finding": Cause(name="log_write_failed", count=1)},
]


@pytest.mark.parametrize("made_live", MADE_LIVE)
def test_marks_that_only_the_live_run_can_make_are_kept(made_live: dict[str, Any]) -> None:
    mark = cause(**made_live)
    timeline = Timeline(session(mark, knee()))
    result = reanalyse(timeline, [detector_of(knee())])
    assert result.recorded == (knee(),)
    assert result.changes == ()
    assert Timeline(reanalysed_events(session(mark, knee()), result, "2.0")).marks == {mark.key: mark, "knee:0": knee()}


def test_a_detector_gets_the_session_without_the_recorded_marks() -> None:
    seen: list[int] = []

    def counting(timeline: Timeline) -> list[Mark]:
        seen.append(len(timeline.marks))
        return []

    timeline = Timeline(session(knee(), cause()))
    assert [change.kind for change in reanalyse(timeline, [counting]).changes] == ["gone", "gone"]
    assert seen == [0]
    assert len(timeline.marks) == 2  # and the timeline is as it was


def test_found_marks_replace_the_recorded_ones_each_at_its_own_time() -> None:
    timeline = Timeline(session(knee(), cause()))
    analysis = reanalyse(timeline, [detector_of(knee(31.0, 22.0), cause(40.0, key="cause:new"))])
    shown = Timeline(reanalysed_events(session(knee(), cause()), analysis, "2.0"))
    assert [(type(entry).__name__, entry.t_s) for entry in shown.journal] == [("Mark", 22.0), ("Note", 25.0), ("Mark", 40.0)]
    assert {key: mark.users for key, mark in shown.marks.items()} == {"knee:0": 31.0, "cause:new": None}
    assert timeline.marks["knee:0"].users == 28.0
    assert timeline.reanalysed is None
    reported = shown.reanalysed
    assert reported is not None
    assert (reported.version, reported.recorded, reported.found) == ("2.0", 2, 2)
    assert [(each.kind, each.key) for each in reported.changes] == [
        ("changed", "knee:0"),
        ("new", "cause:new"),
        ("gone", "cause:ports"),
    ]


@pytest.mark.parametrize("times", [(0.0, 0.0), (20.0, 30.0), (1.0, 25.0), (70.0, 80.0)])
def test_found_marks_are_ordered_by_time_between_the_header_and_the_end_of_the_session(times: tuple[float, float]) -> None:
    found = [cause(times[1]), knee(31.0, times[0])]
    events = list(with_marks(session(knee(), cause()), found))
    assert events[0] == HEADER
    assert isinstance(events[-1], Ended)
    assert [event for event in events if isinstance(event, Mark)] == sorted(found, key=lambda mark: mark.t_s)
    assert len(events) == len(session()) + 2
    inner = [event.t_s for event in events[:-1]]
    assert inner == sorted(inner)


def test_the_changes_follow_the_header() -> None:
    recorded = session(knee(), cause())
    analysis = reanalyse(Timeline(recorded), [detector_of(knee(31.0, 22.0))])
    events = list(reanalysed_events(recorded, analysis, "2.0"))
    assert [type(event).__name__ for event in events[:2]] == ["Header", "Reanalysed"]


def test_changes_can_be_saved_and_read_again() -> None:
    [reported] = [each for each in reanalysed_events(session(cause()), reanalyse(Timeline(), [detector_of(knee())]), "2.0")
              if isinstance(each, Reanalysed)]  # fmt: skip
    assert decode(encode(reported)) == reported


def test_detectors_run_in_order_and_their_marks_are_sorted_by_time() -> None:
    first, second = knee(t_s=9.0), cause(t_s=3.0)
    assert detect(Timeline(), [detector_of(first), detector_of(second)]) == (second, first)


def test_the_detectors_of_this_version_find_the_same_marks_every_time() -> None:
    timeline = Timeline(session())
    assert detect(timeline) == detect(timeline) == detect(timeline, DETECTORS)
