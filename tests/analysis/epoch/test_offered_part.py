"""The iterations of some seconds of a level of an offered rate, with the drops of each reason."""

from __future__ import annotations

from kit.scenario import Scenario

from capexplorer.analysis.epoch.level_seconds import part_figures
from capexplorer.model.load import Drops, OfferedTick
from capexplorer.model.timeline import Timeline

STARTING, WAITING = Drops(starting=2), Drops(target=4, stopped=1)


def session(*drops: Drops) -> Timeline:
    """Seconds in which 100 iterations are due, and those that are not dropped finish."""
    ticks = [OfferedTick(offered_per_s=100.0, planned=100, finished=100 - each.total, dropped=each) for each in drops]
    return Scenario().level(offered_per_s=100.0, seconds=[{"offered": tick} for tick in ticks], is_closed=False).timeline


def test_a_part_of_a_level_has_the_drops_of_its_own_seconds() -> None:
    timeline = session(*4 * [STARTING], *4 * [WAITING])
    first, last = (part_figures(timeline, timeline.levels[0], ticks).offered for ticks in (range(4), range(4, 8)))
    assert first is not None
    assert last is not None
    assert first.dropped == Drops(max_users=8)
    assert last.dropped == Drops(target=16, stopped=4)
    assert first.failed == last.failed == 0


def test_iterations_of_users_that_ended_do_not_make_a_part_the_generators() -> None:
    timeline = session(*4 * [Drops()], *4 * [Drops(target=1, stopped=1)])
    part = part_figures(timeline, timeline.levels[0], range(4, 8)).offered
    assert part is not None
    assert part.dropped.max_users == 0
