"""Rate levels of a simulated service whose capacity is known, from samples to levels, verdict and marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from capexplorer.analysis.epoch.measured_rates import SecondAfter, Usual, recovery, split, usual_at
from capexplorer.model.findings import RateCapacityFinding, RateRecovered
from capexplorer.model.load import Drops, OfferedTick
from capexplorer.model.verdicts import RateVerdict
from lab.simulation.open_queue import Iteration, OpenRun
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates

from ..rates.levels import level

SEED = 200_000

MM1 = System(1 / 100, 0)
SHEDS = System(1 / 100, 0, queue_limit=20)


def climbed(system: System, rates: Sequence[float], level_s: int = 16, **run: Any) -> VirtualRates:
    session = VirtualRates(OpenRun(system, np.random.default_rng(SEED), **run), objectives={"p95_ms": 100.0})
    session.climb(rates, level_s)
    session.end()
    return session


def verdict(session: VirtualRates) -> RateVerdict:
    found = session.timeline.verdict
    assert found is not None
    assert found.rates is not None
    assert found.capacity.curve is None  # levels of users and of rates never share a curve
    return found.rates


def test_queues_that_grow_without_bound_give_the_capacity_as_a_rate_and_its_mark() -> None:
    session = climbed(MM1, [40, 60, 80, 125, 150])
    found = verdict(session)
    assert found.capacity is not None
    assert found.capacity.kind == "capacity"
    assert found.capacity.per_s == pytest.approx(100, rel=0.05)
    assert [each.state for each in found.levels] == ["kept"] * 3 + ["queue_grows"] * 2
    assert found.levels[-1].growth_per_s == pytest.approx(50, rel=0.2)
    marks = [mark for mark in session.timeline.marks.values() if isinstance(mark.finding, RateCapacityFinding)]
    assert [(mark.key, mark.state) for mark in marks] == [("rate_capacity:epoch0", "updated")]


def test_an_objective_is_compared_with_the_time_from_plan() -> None:
    (found,) = verdict(climbed(MM1, [40, 60, 80, 125])).objectives
    assert found.state == "crossed"
    assert found.per_s == pytest.approx(70, rel=0.15)  # p95 of M/M/1: 3 / (100 - rate)


def test_a_service_that_refuses_requests_is_reported_with_its_recovery() -> None:
    session = climbed(SHEDS, [40, 60, 80, 125, 150, 50])
    found = verdict(session)
    assert found.capacity is not None
    assert found.capacity.overload is not None
    assert found.capacity.overload.kind == "refuses"
    assert found.levels[-1].why == "recovery"
    (back,) = found.recoveries
    assert (back.recovered, back.to_per_s) == (True, 50)
    assert back.from_per_s > 140
    assert RateRecovered in {type(mark.finding) for mark in session.timeline.marks.values()}


def test_a_pool_of_users_that_is_too_small_is_not_a_capacity() -> None:
    slow = System(0.1, 0, linear=True, service_spread="constant")
    found = verdict(climbed(slow, [40, 80, 160], max_users=10, waiting_most=20)).capacity  # 10 users at 0.1 s: 100/s
    assert found is not None
    assert (found.kind, found.limit) == ("keeps_up", "generator")


class Starting(VirtualRates):
    """In one second of each level above 100/s, one more arrival is due for which a user is still starting."""

    def _offered(self, ended: Sequence[Iteration]) -> OfferedTick:
        tick = super()._offered(ended)
        if tick.offered_per_s < 100 or self.now_s % 16 != 8:
            return tick
        return msgspec.structs.replace(tick, planned=tick.planned + 1, dropped=Drops(starting=1))


def test_one_drop_by_the_generator_does_not_hide_that_a_service_refuses() -> None:
    session = Starting(OpenRun(SHEDS, np.random.default_rng(SEED)))
    session.climb([40, 60, 80, 150, 200], 16)
    session.end()
    found = verdict(session).capacity
    assert found is not None
    assert (found.kind, found.confidence) == ("capacity", "high")
    assert found.per_s == pytest.approx(100, rel=0.05)


def test_rates_below_the_capacity_show_that_the_service_keeps_up() -> None:
    found = verdict(climbed(MM1, [30, 50, 70, 85])).capacity
    assert found is not None
    assert found.kind == "keeps_up"


def test_a_lower_rate_after_overload_is_recovery_but_one_below_all_earlier_rates_is_in_the_curve() -> None:
    levels = [level(50), level(150, 100, service_ms=900), level(60, 100), level(60), level(20)]
    fit, down = split(levels)
    assert [each.rate_per_s for each in fit] == [50, 150, 20]
    assert [each.rate_per_s for each in down] == [60, 60]


def after(in_flight: float, failed: float = 0.0) -> SecondAfter:
    """A second after a step down in which 40 iterations end."""
    return SecondAfter(in_flight, 40.0, 40.0 * failed)


BACKLOG = [after(500), after(300), after(100)]
SERVED = [after(2)]


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        (BACKLOG + 4 * SERVED, (3.0, True)),
        (4 * SERVED, (0.0, True)),
        (BACKLOG, (None, None)),
        (25 * [after(500)], (None, False)),
        (25 * [after(2, failed=1.0)], (None, False)),
        (25 * [after(2, failed=0.15)], (None, False)),
        ([*BACKLOG, after(2), after(2, 0.5), after(2, 0.5), *4 * SERVED], (6.0, True)),
        ([after(500), after(300, 0.5), after(100, 0.5), *4 * SERVED], (3.0, True)),
    ],
    ids=[
        "a backlog that ends",
        "no backlog",
        "a backlog that shrinks",
        "a backlog that stays",
        "failures that stay",
        "some failures that stay",
        "failures that end after the backlog",
        "failures that end before the backlog",
    ],
)
def test_a_service_has_recovered_when_backlog_and_failures_have_ended(
    seconds: list[SecondAfter], found: tuple[float | None, bool | None]
) -> None:
    assert recovery(seconds, Usual(in_flight=10.0)) == found


def test_failures_are_those_of_a_level_served_in_full() -> None:
    always = [after(2, failed) for failed in (0.15, 0.1, 0.25, 0.2, 0.275) for _ in range(5)]
    assert recovery(always, Usual(10.0, failure_ratio=0.15)) == (0.0, True)
    assert recovery(25 * [after(2, failed=0.5)], Usual(10.0, failure_ratio=0.15)) == (None, False)


def test_what_is_usual_after_overload_is_read_from_the_nearest_rate_that_was_served_in_full() -> None:
    fit = [level(20, 17, failed=3), level(40, 34, failed=6, in_flight=2.0), level(150, 70, failed=80)]
    assert usual_at(fit, 40.0) == Usual(in_flight=9.0, failure_ratio=0.15)


def test_recovery_needs_a_level_to_compare_with() -> None:
    assert recovery(4 * SERVED, None) == (None, None)
    assert usual_at([], 40.0) is None


def test_a_level_whose_iterations_are_miscounted_is_not_judged() -> None:
    session = VirtualRates(OpenRun(MM1, np.random.default_rng(SEED)))
    session.climb([40, 60], 16)
    session.running.lost = 1
    session.climb([150], 16)
    session.end()
    found = verdict(session)
    assert [each.why for each in found.levels] == [None, None, "disturbed"]
    assert found.capacity is not None
    assert found.capacity.kind == "keeps_up"
