"""The timeline folds events: the same events give the same timeline, live or from a log."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from kit.scenario import HEADER, second
from marked import marked
from session.samples import ONE_OF_EACH, busy_sample

from capexplorer.model.events import (
    Command,
    Ended,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    LevelClosed,
    LevelOpened,
    Log,
    Mark,
    Note,
    Sample,
    Target,
    Unknown,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.readings import HostReading, TargetReading
from capexplorer.model.timeline import LOG_LINES, Timeline


def opened(index: int, t_s: float, users: int = 10, *, ramp: bool = False) -> LevelOpened:
    return LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=1.0, by="user", ramp=ramp)


def tick(t_s: float, level: int = 0, requests: int = 10, **more: Any) -> Sample:
    given: dict[str, Any] = {"name": "/a", "latency_ms": 0.0, **more}
    return second(t_s, level=level, rps=requests, **given)


def closed(index: int, t_s: float, requests: int = 0) -> LevelClosed:
    figures = LevelFigures(settled=True, requests=requests)
    return LevelClosed(t_s=t_s, index=index, users=10, started_s=0.0, settled_s=1.0, figures=figures)


SESSION: tuple[Event, ...] = (
    HEADER,
    opened(0, 1.0),
    tick(2.0, settled=False),
    *(busy_sample(float(t), seed=t) for t in (3, 4)),
    tick(5.0),
    closed(0, 5.5, requests=77),
    opened(1, 5.5, 20),
    tick(6.0, 1, users=20, wanted=20),
    Note(t_s=6.5, text="hm"),
    *ONE_OF_EACH[-3:],
)


def snapshot(timeline: Timeline) -> dict[str, object]:
    """Everything that a screen can see."""
    return {
        "columns": {name: [repr(value) for value in column] for name, column in timeline.columns.items()},
        "levels": [
            (each.opened, each.figures, each.endpoints, each.settled_s, each.ended_s, each.bins) for each in timeline.levels
        ],
        "marks": timeline.marks,
        "journal": timeline.journal,
        "failures": [(key, each.count, each.first_s, each.last_s) for key, each in timeline.failures.items()],
        "log": list(timeline.log),
        "rest": (
            timeline.header,
            timeline.target,
            timeline.step_size,
            timeline.last,
            timeline.ended,
            timeline.last_s,
            timeline.phase,
        ),
    }


def test_events_one_by_one_or_from_a_list_give_the_same_timeline() -> None:
    one_by_one = Timeline()
    for event in SESSION:
        one_by_one.apply(event)
        snapshot(one_by_one)  # reading does not change it
    assert snapshot(one_by_one) == snapshot(Timeline(SESSION)) == snapshot(Timeline(iter(SESSION)))


def test_an_empty_timeline_has_no_level_no_phase_and_no_ticks() -> None:
    empty = Timeline()
    assert (len(empty), empty.level, empty.wanted, empty.phase, empty.last, empty.index_at(5.0)) == (0, None, 0, None, None, -1)


def test_every_column_grows_by_one_a_tick() -> None:
    timeline = Timeline([opened(0, 0.0), tick(1.0), busy_sample(2.0)])
    assert {len(column) for column in timeline.columns.values()} == {len(timeline)} == {2}


READINGS = {
    "goodput_rps", "p50_ms", "p95_ms", "p99_ms", "max_ms", "target_cpu_ratio", "target_rss_bytes", "target_fds",
    "target_fds_fullest", "target_fds_limit", "generator_rss_bytes", "generator_fds", "host_cpu_ratio", "host_memory_bytes",
    "load_average_1m", "received_bytes_per_s", "sent_bytes_per_s", "generator_cpu_ratio", "screen_cpu_ratio",
    "recorder_cpu_ratio", "loop_lag_p99_ms", "ports_used", "ports_capacity", "ports_time_wait", "ports_burn_rate_per_s",
    "ports_exhausted_in_s",
}  # fmt: skip
"""Columns that need something to be measured; the others are counts and times, which every tick has."""


def test_unmeasured_values_are_nan_and_never_zero() -> None:
    columns = Timeline([tick(1.0, work=None)]).columns
    assert {name for name, column in columns.items() if math.isnan(column[0])} >= READINGS
    assert columns["throughput_rps"][0] == 10.0
    assert columns["failures_rps"][0] == 0.0


def test_a_sum_over_targets_is_nan_if_a_reading_of_one_of_them_is_missing() -> None:
    targets = (TargetReading(pid=1, cpu_ratio=0.5, rss_bytes=5), TargetReading(pid=2, rss_bytes=6))
    columns = Timeline([tick(1.0, targets=targets, host=HostReading(cpu_ratio=0.0))]).columns
    assert math.isnan(columns["target_cpu_ratio"][0])
    assert columns["target_rss_bytes"][0] == 11
    assert columns["host_cpu_ratio"][0] == 0.0


def test_the_target_nearest_to_its_limit_of_open_files_is_reported() -> None:
    targets = (TargetReading(pid=1, fds_fullest=90, fds_limit=100), TargetReading(pid=2, fds_fullest=500, fds_limit=1_000))
    columns = Timeline([tick(1.0, targets=targets), tick(2.0, targets=targets[1:]), tick(3.0)]).columns
    assert columns["target_fds_fullest"][:2].tolist() == [90, 500]
    assert columns["target_fds_limit"][:2].tolist() == [100, 1_000]
    assert math.isnan(columns["target_fds_fullest"][2])


def test_rates_of_a_tick_count_all_requests_that_were_sent_warm_up_included() -> None:
    endpoint = EndpointTick(name="/a", method="GET", requests=10, failures=1, warmup_requests=4, warmup_failures=2)
    columns = Timeline([tick(1.0, duration_s=2.0, endpoints=(endpoint,), work=9.0, warmup_work=2.0)]).columns
    assert [columns[name][0] for name in ("throughput_rps", "goodput_rps", "failures_rps")] == [7.0, 5.5, 1.5]


def test_index_at_is_the_last_tick_at_or_before_a_moment() -> None:
    timeline = Timeline([tick(1.0), tick(2.0), tick(3.5)])
    assert [timeline.index_at(t_s) for t_s in (0.0, 0.99, 1.0, 1.5, 2.0, 3.49, 3.5, 99.0)] == [-1, -1, 0, 0, 1, 1, 2, 2]


def test_figures_are_those_so_far_until_the_recorded_ones_replace_them() -> None:
    timeline = Timeline([opened(0, 0.0), tick(1.0, requests=5), tick(2.0, requests=7)])
    level = timeline.levels[0]
    assert (level.figures.requests, level.settled_s, level.ended_s) == (12, 0.0, None)
    timeline.apply(closed(0, 2.5, requests=99))
    assert (level.figures.requests, level.settled_s, level.ended_s) == (99, 1.0, 2.5)
    timeline.apply(tick(3.0, requests=100))  # late
    assert level.figures.requests == 99


def test_the_phase_is_spawning_from_the_moment_a_level_opens() -> None:
    timeline, phases = Timeline(), []
    for event in (opened(0, 0.0), tick(1.0), opened(1, 1.5, 20), tick(2.0, 1, settled=False)):
        timeline.apply(event)
        phases.append((timeline.phase, timeline.wanted))
    assert phases == [("spawning", 10), ("settled", 10), ("spawning", 20), ("settling", 20)]


def test_a_level_stores_the_index_of_its_first_tick() -> None:
    timeline = Timeline([opened(0, 0.0), tick(1.0), tick(2.0), opened(1, 2.5), tick(3.0, 1)])
    assert [level.first_index for level in timeline.levels] == [0, 2]


def test_a_ramp_has_bins_while_it_is_open_and_the_recorded_ones_after() -> None:
    timeline = Timeline([opened(0, 0.0, ramp=True), *(tick(float(t), users=t, settled=False) for t in range(1, 5))])
    assert [each.users for each in timeline.levels[0].bins] == [1.0, 2.0, 3.0, 4.0]
    timeline.apply(closed(0, 5.0))
    assert timeline.levels[0].bins == ()


def test_a_mark_is_superseded_by_a_higher_revision_and_never_by_a_lower() -> None:
    def mark(revision: int, state: str) -> Mark:
        return marked(t_s=float(revision), key="k", revision=revision, state=state, kind="cause", id="x")

    timeline = Timeline([mark(1, "open"), mark(3, "retracted"), mark(2, "updated")])
    assert timeline.marks["k"].state == "retracted"
    assert [entry.revision for entry in timeline.journal if isinstance(entry, Mark)] == [1, 3, 2]


def test_failures_are_counted_by_endpoint_and_signature_over_the_session() -> None:
    refused, reset = (FailureSignature(types=("OSError",), errno=number) for number in (111, 104))

    def failing(t_s: float, signature: FailureSignature, count: int) -> Sample:
        return tick(t_s, failures=(FailureTick(name="/a", method="GET", signature=signature, count=count),))

    timeline = Timeline([failing(1.0, refused, 2), failing(2.0, reset, 1), failing(3.0, refused, 5)])
    assert [(each.signature.errno, each.count, each.first_s, each.last_s) for each in timeline.failures.values()] == [
        (111, 7, 1.0, 3.0),
        (104, 1, 2.0, 2.0),
    ]


def test_commands_notes_marks_and_the_target_are_in_the_journal_in_order() -> None:
    events = [Target(t_s=1.0, state="ready"), Command(t_s=2.0, name="step", args={"step": 5}), Note(t_s=3.0, text="n")]
    timeline = Timeline(events)
    assert timeline.journal == events
    assert timeline.step_size == 5
    assert timeline.target == events[0]


def test_the_log_keeps_the_latest_lines() -> None:
    timeline = Timeline(Log(t_s=float(n), source="stdout", text=str(n)) for n in range(LOG_LINES + 10))
    assert (len(timeline.log), timeline.log[0].text, timeline.log[-1].text) == (LOG_LINES, "10", str(LOG_LINES + 9))


def test_the_time_of_a_timeline_is_that_of_its_latest_event_and_never_decreases() -> None:
    timeline = Timeline([tick(5.0), Note(t_s=4.0, text="late"), Ended(t_s=6.0, reason="quit")])
    assert timeline.last_s == 6.0
    assert timeline.ended is not None


@pytest.mark.parametrize("lost", range(len(SESSION)))
def test_a_log_without_one_of_its_lines_can_be_folded(lost: int) -> None:
    snapshot(Timeline([*SESSION[:lost], *SESSION[lost + 1 :]]))


def test_half_of_the_lines_of_a_log_in_any_order_can_be_folded() -> None:
    dice = random.Random(7)
    for _ in range(200):
        kept = [event for event in SESSION if dice.random() < 0.5]
        dice.shuffle(kept)
        snapshot(Timeline(kept))


def test_an_event_of_an_unknown_type_changes_nothing_but_the_time() -> None:
    timeline = Timeline([*SESSION])
    before = snapshot(timeline)
    timeline.apply(Unknown(t_s=0.5, original_type="weather", fields={"rain": True}))
    assert snapshot(timeline) == before
