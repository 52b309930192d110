"""One epoch at one moment: the levels and the verdict that all detectors share."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from kit.scenario import HEADER, Scenario
from msgspec.structs import replace

from capexplorer.analysis import capacity_marks
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.epoch import epoch as epoch_module
from capexplorer.analysis.epoch import measured_epoch
from capexplorer.analysis.epoch.epoch import epoch_of, epochs_of, indices
from capexplorer.analysis.knee.detector import analyse
from capexplorer.model.level_use import level_uses
from capexplorer.model.timeline import Timeline

from ..loads import FACTS, Load, closed_session

WAIT_S = 0.3
LADDER = [Load(users, min(users / 0.4, 60.0), 100.0 if users <= 24 else 1000 * (users / 60 - WAIT_S), WAIT_S)
          for users in (4, 8, 16, 32, 48, 64, 12)]  # fmt: skip
"""Capacity 60/s, reached with 24 users; the last level is on the way down."""


def test_an_epoch_lists_its_levels_and_those_on_the_way_down() -> None:
    epoch = epoch_of(closed_session(*LADDER), 0)
    assert [level.users for level in epoch.ladder] == [4, 8, 16, 32, 48, 64, 12]
    assert [level.users for level in epoch.fit] == [4, 8, 16, 32, 48, 64]
    assert [level.users for level in epoch.recovery] == [12]


def sampled(load: Load, *, stacks: bool) -> Timeline:
    """LADDER without its last level, then this load: the target's stacks are sampled in it, or it counts as all others."""
    scenario = Scenario(replace(HEADER, host=FACTS)).ready()
    for each in LADDER[:-1]:
        scenario.measured(each.users, each.level(), lasts_s=23, settled_s=scenario.t_s + 3)
    return scenario.measured(load.users, load.level(), lasts_s=23, settled_s=scenario.t_s + 3, stacks=stacks).timeline


@pytest.mark.parametrize("users", [16, 64, 80])
def test_a_level_in_which_stacks_were_sampled_is_in_no_curve(users: int) -> None:
    """The samples slow it, or make it fail."""
    slowed = Load(users, 20.0, 1000.0, WAIT_S, failure_ratio=0.2)
    found, beside = epoch_of(sampled(slowed, stacks=True), 0).verdict, epoch_of(closed_session(*LADDER[:-1]), 0).verdict
    assert found is not None and beside is not None
    assert found.capacity == beside.capacity
    assert epoch_of(sampled(slowed, stacks=False), 0).verdict != found  # it would count otherwise
    assert level_uses(sampled(slowed, stacks=True))[6].whys == ("stacks",)


def test_the_verdict_of_an_epoch_is_that_of_its_judgeable_levels() -> None:
    epoch = epoch_of(closed_session(*LADDER), 0)
    assert epoch.verdict is not None
    assert epoch.verdict.capacity == analyse(epoch.judgeable)
    assert epoch.verdict.recovery_levels == (6,)


def test_the_first_levels_give_the_verdict_as_of_that_time() -> None:
    timeline = closed_session(*LADDER)
    then, now = epoch_of(timeline, 0, timeline.levels[:3]).verdict, epoch_of(timeline, 0).verdict
    assert then is not None
    assert then.capacity.knee is not None
    assert then.capacity.knee.kind == "no_knee"
    assert now is not None
    assert now.capacity.knee is not None
    assert now.capacity.knee.kind == "knee"


def test_rate_levels_are_in_no_curve_of_users() -> None:
    timeline = closed_session(*LADDER)
    for level in timeline.levels:
        level.opened = replace(level.opened, offered_per_s=60.0)
    epoch = epoch_of(timeline, 0)
    assert epoch.verdict is None
    assert epoch.levels == ()
    assert list(capacity_marks.shifts(timeline)) == list(bottlenecks.marks(epoch)) == []


def test_a_rate_level_among_levels_of_users_changes_nothing() -> None:
    without, mixed = closed_session(*LADDER), closed_session(*LADDER, Load(500, 5.0, 9_000.0, WAIT_S))
    mixed.levels[-1].opened = replace(mixed.levels[-1].opened, offered_per_s=60.0)
    found, expected = epoch_of(mixed, 0).verdict, epoch_of(without, 0).verdict
    assert found is not None
    assert expected is not None
    assert replace(found, t_s=0.0) == replace(expected, t_s=0.0)


def test_without_a_level_there_is_no_verdict_and_no_mark() -> None:
    epoch = epoch_of(Timeline(), 0)
    assert epochs_of(Timeline()) == ()
    assert indices(Timeline()) == []
    assert epoch.verdict is None
    assert epoch.ladder == ()
    assert list(capacity_marks.recoveries(epoch)) == []
    assert list(bottlenecks.marks(epoch)) == []


def test_one_analysis_splits_and_judges_its_levels_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks, bottlenecks and recoveries share one ladder, since analysis and load thread share one interpreter lock."""
    calls: list[str] = []

    def counted(module: ModuleType, name: str) -> None:
        original = getattr(module, name)

        def counting(*args: Any, **more: Any) -> Any:
            calls.append(name)
            return original(*args, **more)

        monkeypatch.setattr(module, name, counting)

    counted(epoch_module, "measured_of")
    counted(measured_epoch, "judgeable_levels")
    counted(measured_epoch, "split")
    counted(epoch_module, "verdict_on")
    epoch = epoch_of(closed_session(*LADDER), 0)
    assert epoch.verdict is not None
    assert [*capacity_marks.of_verdict(epoch.verdict), *capacity_marks.recoveries(epoch), *bottlenecks.marks(epoch)]
    assert calls == ["measured_of", "judgeable_levels", "split", "verdict_on"]
