"""Iterations of rate levels: all of them are accounted for, and their figures come from settled seconds."""

from __future__ import annotations

import pytest

from capexplorer.model.columns import row
from capexplorer.model.events import LevelOpened, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import LevelFold, RampFold
from capexplorer.model.load import Drops, OfferedTick, Rate, Users
from capexplorer.model.timeline import Timeline
from capexplorer.session import codec
from capexplorer.session.canonical import canonical

NONE = Drops()


def tick(
    *from_plan_ms: float, planned: int, failed: int = 0, dropped: Drops = NONE, rate: float = 10.0, **at_end: int
) -> OfferedTick:
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in from_plan_ms])
    return OfferedTick(
        offered_per_s=rate,
        planned=planned,
        started=len(from_plan_ms) + failed,
        finished=len(from_plan_ms),
        failed=failed,
        dropped=dropped,
        from_plan=histogram.encode() if from_plan_ms else None,
        from_plan_sum_ms=sum(from_plan_ms),
        late_p99_ms=1.0,
        late_max_ms=2.0,
        **at_end,
    )


def second(t_s: float, offered: OfferedTick | None, *, settled: bool = True) -> Sample:
    return Sample(
        t_s=t_s, duration_s=1.0, level=0, users=5, wanted=5, phase="settled", settled=settled, work=1.0, offered=offered
    )


FIRST = second(11.0, tick(10, 20, planned=4, queued=1, running=1))
SECOND = second(12.0, tick(30, 500, planned=3, failed=1, dropped=Drops(target=1), running=1))


def test_iterations_in_flight_before_a_tick_follow_from_conservation() -> None:
    assert FIRST.offered is not None
    assert SECOND.offered is not None
    assert FIRST.offered.in_flight_before == 0
    assert SECOND.offered.in_flight_before == FIRST.offered.in_flight == 2


def test_a_level_adds_up_its_iterations() -> None:
    fold = LevelFold()
    for sample in (FIRST, SECOND):
        fold.add(sample)
    offered = fold.figures(with_histogram=True).offered
    assert offered is not None
    assert (offered.planned, offered.finished, offered.failed, offered.dropped) == (7, 4, 1, Drops(target=1))
    assert (offered.in_flight_before, offered.in_flight) == (0, 1)
    assert (offered.offered_per_s, offered.finished_per_s, offered.in_flight_mean) == (10.0, 2.0, 1.5)
    assert offered.from_plan_ms.max == pytest.approx(500, rel=1e-3)
    assert offered.from_plan_ms.mean == 140
    assert (offered.late_p99_ms, offered.late_max_ms) == (1.0, 2.0)
    assert offered.from_plan is not None


def test_a_level_of_users_has_no_iterations() -> None:
    fold = LevelFold()
    fold.add(second(11.0, None))
    assert fold.figures().offered is None


def test_a_level_without_its_last_second_equals_a_level_to_which_it_was_never_added() -> None:
    whole, part = LevelFold(), LevelFold()
    for sample in (FIRST, SECOND):
        whole.add(sample)
    part.add(FIRST)
    assert whole.without([SECOND]).figures() == part.figures()


def test_a_ramp_of_rates_is_binned_by_offered_rate() -> None:
    opened = LevelOpened(t_s=0, index=0, users=0, spawn_rate=1, by="plan", offered_per_s=30.0, ramp=True)
    ramp = RampFold.of(opened)
    for at, rate in enumerate((10.0, 20.0, 20.0, 30.0)):
        ramp.add(second(float(at), tick(5, planned=1, rate=rate)))
    ramp.add(second(9.0, None))
    found = [each.figures.offered for each in ramp.bins()]
    assert [(each.offered_per_s, each.finished) for each in found if each] == [(10.0, 1), (20.0, 2), (30.0, 1)]


def test_a_tick_has_columns_of_its_iterations() -> None:
    values = row(SECOND)
    assert (values["offered_per_s"], values["finished_per_s"], values["dropped_per_s"]) == (10.0, 2.0, 1.0)
    assert (values["in_flight"], values["queued"]) == (1, 0)
    assert row(second(1.0, None))["offered_per_s"] is None


def test_a_timeline_has_the_load_that_is_requested() -> None:
    rate = LevelOpened(t_s=0, index=0, users=0, spawn_rate=1, by="user", offered_per_s=0.05)
    users = LevelOpened(t_s=1, index=1, users=5, spawn_rate=1, by="user")
    assert (Timeline([rate]).load, Timeline([rate, users]).load) == (Rate(0.05), Users(5))


def test_a_second_of_a_rate_level_is_decoded_as_it_was_encoded() -> None:
    sample = canonical(second(1.0, tick(10, planned=1, rate=0.05)))
    assert codec.decode(codec.encode(sample)) == sample
    assert sample.offered is not None
    assert sample.offered.offered_per_s == 0.05
