"""A level whose figures change permanently is split at the change: in the log, on the screen and in replays alike."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from timeline_digest import digest

from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import LevelClosed, LevelOpened, Sample
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.session.reader import read

from .run_without_load import RunWithoutLoad

SHIFTS: dict[str, list[tuple[float, int]]] = {
    "ports run out: 170, failures, 120": [(170, 60), (45, 30), (120, 60)],
    "the queue stands still: 64, then 0.1": [(64, 60), (0.1, 60)],
    "60, 90, 0, 40": [(60, 60), (90, 60), (0, 60), (40, 60)],
}
"""Sections of a level of 100 users: the mean goodput of each, and its seconds."""


def goodputs(sections: list[tuple[float, int]], seed: int = 1) -> list[int]:
    """The goodput of each second, with as little scatter as that of closed systems."""
    rng = np.random.default_rng(seed)
    return [int(rng.binomial(max(1, round(2 * mean)), 0.5)) if mean > 1 else int(rng.random() < mean)
            for mean, seconds in sections for _ in range(seconds)]  # fmt: skip


def run_with_shifts(path: Path, sections: list[tuple[float, int]], more: int = 10) -> RunWithoutLoad:
    """A complete run: a level of 100 users with these sections, and `more` seconds of a level of 20 users."""
    run = RunWithoutLoad(path)
    run.step(100)
    run.add_seconds(goodputs(sections))
    run.step(20)
    run.add_seconds([30] * more)
    run.end()
    return run


@pytest.mark.parametrize("name", SHIFTS)
def test_a_level_is_split_at_each_shift_and_nowhere_else(name: str, tmp_path: Path) -> None:
    sections = SHIFTS[name]
    run = run_with_shifts(tmp_path / "a.jsonl", sections)
    levels = run.timeline.levels[:-1]
    happened = list(np.cumsum([seconds for _, seconds in sections])[:-1])
    assert [level.started_s for level in levels[1:]] == pytest.approx(happened, abs=2)
    assert {(level.users, level.opened.by) for level in levels[1:]} == {(100, "shift")}
    means = [level.figures.goodput_rps for level in levels]
    assert means == pytest.approx([mean for mean, _ in sections], rel=0.06, abs=0.5)


def test_each_settled_second_is_in_exactly_one_part_of_a_split_level(tmp_path: Path) -> None:
    sections = SHIFTS["60, 90, 0, 40"]
    run = run_with_shifts(tmp_path / "a.jsonl", sections)
    levels = run.timeline.levels[:-1]
    settled = [tick for level in levels for tick in run.timeline.seconds_of(level)]
    assert settled == sorted(set(settled))
    assert len(settled) == 240 - 2  # the first two seconds are not settled
    requests = run.timeline.columns["requests"]
    assert sum(level.figures.requests for level in levels) == sum(requests[tick] for tick in settled)
    for level in levels:
        own = [requests[tick] for tick in run.timeline.seconds_of(level)]
        assert level.figures.requests == sum(own)
        assert level.figures.settled_seconds == len(own)
        assert level.ended_s is not None
        assert level.ended_s - level.started_s >= len(own)
    ends = [level.ended_s for level in levels]
    assert ends[:-1] == [level.started_s for level in levels[1:]]


@pytest.mark.parametrize("name", SHIFTS)
def test_the_replay_at_each_second_equals_the_screen_at_that_second(name: str, tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    run.step(100)
    digests: list[tuple[float, str]] = []
    for count in goodputs(SHIFTS[name]):
        run.add_second(count)
        run.take()
        digests.append((run.now_s, digest(run.screen_timeline)))
    del digests[-1]  # the end of the run has the same time
    run.end()
    assert digest(Timeline(read(run.path))) == digest(run.screen_timeline) == digest(run.timeline)
    replay = Replay(run.path)
    replay.read_on()
    replay.prepare()
    moments = [*digests[::7], *reversed(digests[::11])]
    differing = [t_s for t_s, expected in moments if digest(replay.at(t_s + 0.005)) != expected]  # marks come 4 ms after a tick
    replay.close()
    assert differing == []


def test_the_mark_of_a_shift_has_its_time_and_the_goodput_before_and_after(tmp_path: Path) -> None:
    run = run_with_shifts(tmp_path / "a.jsonl", [(170, 60), (120, 60)])
    assert reanalyse(Timeline(read(run.path))).changes == ()
    (mark,) = run.marks_of("shift")
    assert (mark.key, mark.id, mark.users) == ("shift:level1", "goodput_fell", 100)
    assert mark.finding.figures()["at_s"] == pytest.approx(60, abs=2)
    assert (mark.finding.figures()["before"], mark.finding.figures()["after"]) == pytest.approx((170, 120), rel=0.05)
    assert 70 <= mark.t_s <= 85  # at least ten seconds after the shift


def test_reanalysis_finds_the_shift_of_a_level_that_was_not_split(tmp_path: Path) -> None:
    whole = []
    for event in run_with_shifts(tmp_path / "a.jsonl", [(170, 60), (120, 60)]).shown:
        match event:
            case LevelOpened(by="shift") | LevelClosed(ended_s=float()):
                continue
        whole.append(event)
    first = [
        msgspec.structs.replace(event, level=0) if isinstance(event, Sample) else event for event in whole if event.t_s <= 120
    ]
    timeline = Timeline(event for event in first if not isinstance(event, LevelClosed))
    timeline.apply(timeline.levels[0].ending(120.0))
    (mark,) = [change.found for change in reanalyse(timeline).changes if change.found and change.found.kind == "shift"]
    assert mark.finding.figures()["at_s"] == pytest.approx(60, abs=2)
    assert mark.key.startswith("shift:level0@")


def test_levels_without_a_shift_are_not_split(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    for users, rate in ((10, 12), (20, 25), (50, 60)):
        run.step(users)
        run.add_seconds(goodputs([(rate, 90)], seed=users))
    run.end()
    assert len(run.timeline.levels) == 3
    assert run.marks_of("shift") == []


def test_a_shift_does_not_split_a_level_whose_seconds_are_no_longer_kept(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    run.step(10)
    run.add_seconds(goodputs([(100, 400)]))
    assert not run.levels._split(50.0, "goodput"), "this second is no longer kept"
    assert run.levels._split(200.0, "goodput")
    run.take()
    run.sink.close()
