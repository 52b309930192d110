"""Services that change while rates are offered, in virtual time: the same findings as at levels of users."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from capexplorer import wording
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import RateVerdict
from lab.simulation.moving import climbed, moving_rates
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System, Trouble
from lab.simulation.virtual import VirtualRates

SEED = 250_000

BELOW = (20.0, 40.0, 60.0, 70.0, 20.0)
"""Never above the capacity of 100/s."""
LEVEL_S = 20


@cache
def session(rates: tuple[float, ...], trouble: Trouble, level_s: int = LEVEL_S, timeout_s: float | None = None) -> Timeline:
    return climbed(System(0.01, 0, trouble=trouble, timeout_s=timeout_s), rates, level_s, np.random.default_rng(SEED)).timeline


def verdict(timeline: Timeline) -> RateVerdict:
    found = timeline.verdict
    assert found is not None
    assert found.rates is not None
    return found.rates


def current_marks(timeline: Timeline, kind: str) -> list[Mark]:
    return [mark for mark in wording.current_marks(timeline).values() if mark.kind == kind]


@pytest.mark.parametrize(
    "at_s", [30.0, 40.2, 59.4], ids=["inside a level", "together with a step", "in the last second of a level"]
)
def test_an_upstream_that_dies_at_a_constant_rate_is_a_fault_in_time_and_no_capacity(at_s: float) -> None:
    timeline = session(BELOW, Trouble(at_s, failing=1.0))
    found = verdict(timeline)
    assert found.capacity is None or found.capacity.kind == "keeps_up"
    assert current_marks(timeline, "rate_capacity") == []
    (fault,) = [regime for regime in found.regimes if regime.began == "failures"]
    assert fault.inside
    assert fault.at_rates
    assert fault.began_s == pytest.approx(at_s, abs=2.0)


@pytest.mark.parametrize("at_s", [34.15, 34.6, 34.9])
def test_a_stall_that_begins_in_the_last_seconds_of_a_level_is_not_taken_for_a_queue(at_s: float) -> None:
    found = verdict(session(BELOW, Trouble(at_s, stalled_s=5.0), level_s=12))
    assert found.capacity is not None
    assert found.capacity.kind == "keeps_up"
    assert found.levels[2].state == "kept"


def test_levels_before_and_after_a_fault_that_passes_are_of_one_service() -> None:
    found = verdict(session(BELOW, Trouble(45.0, 60.0, failing=1.0)))
    assert found.capacity is not None
    assert found.capacity.kind == "keeps_up"
    assert found.capacity.per_s == pytest.approx(70, rel=0.06)
    (cut,) = [each for each in found.levels if each.why == "other_service"]
    assert (cut.level, cut.is_part) == (2, True)


def test_a_capacity_that_halves_at_a_constant_rate_is_a_shift_and_no_capacity_between_both() -> None:
    timeline = session((20.0, 40.0, 80.0, 20.0), Trouble(95.0, speed=0.5), 40)
    (shift,) = current_marks(timeline, "shift")
    assert (shift.id, shift.users, shift.offered_per_s) == ("goodput_fell", None, 80.0)
    found = verdict(timeline).capacity
    assert found is None or found.kind != "capacity" or found.per_s == pytest.approx(50, rel=0.1)


def test_a_rate_that_was_served_and_is_not_when_it_returns_shows_a_change_of_the_service() -> None:
    """The capacity falls from 100/s to 50/s at a rate at which its 8 servers are quick enough anyway."""
    timeline = climbed(
        System(0.08, 0, servers=8, service_spread="constant", trouble=Trouble(45.0, speed=0.5)),
        (20.0, 40.0, 80.0, 20.0, 80.0, 20.0),
        14,
        np.random.default_rng(SEED),
    ).timeline
    found = verdict(timeline)
    assert found.capacity is not None
    assert found.capacity.kind == "keeps_up"
    assert found.capacity.per_s == pytest.approx(80, rel=0.1)
    changed = found.regimes[-1]
    assert (changed.began, changed.inside, changed.users) == ("goodput", True, 80.0)
    assert changed.before_rps == pytest.approx(80, rel=0.1)


def test_a_capacity_that_doubles_begins_a_new_regime() -> None:
    timeline = session((50.0, 80.0, 150.0), Trouble(95.0, speed=2.0), 40)
    found = verdict(timeline)
    assert len(found.regimes) > 1
    assert found.capacity is not None
    assert found.capacity.per_s <= 210


@pytest.mark.parametrize("rates", [(20.0, 40.0, 20.0), (20.0, 20.0, 20.0), (40.0, 40.0, 20.0)])
def test_a_service_that_is_slower_at_a_rate_offered_before_has_changed_even_if_all_is_served(rates: tuple[float, ...]) -> None:
    steady, slower = session(rates, Trouble()), session(rates, Trouble(40.5, speed=0.4))
    assert verdict(steady).regimes == ()
    if rates[-1] != rates[0]:
        assert verdict(slower).regimes == ()  # no earlier level has this rate
        return
    was, now = verdict(slower).regimes
    assert (now.began, now.inside, now.users, was.judged) == ("latency", True, 20.0, True)
    assert now.began_s == pytest.approx(40.0, abs=3.0)
    assert now.before_ms is not None
    assert now.after_ms is not None
    assert now.after_ms > 2 * now.before_ms
    assert now.return_users is None
    assert now.unchanged_until_s == pytest.approx(now.began_s if rates[1] == rates[-1] else 20.0, abs=3.0)
    (last,) = [each for each in verdict(slower).levels if each.why == "other_service"]
    assert last.level == 2


def test_a_service_whose_latency_returns_to_its_old_value_is_the_service_before() -> None:
    was, slow = verdict(session((20.0, 40.0, 20.0, 20.0), Trouble(40.5, 60.5, speed=0.3))).regimes
    assert (was.began, slow.began, slow.judged) == (None, "latency", False)


def test_a_fall_that_came_with_a_step_is_open_until_a_return_shows_what_caused_it() -> None:
    rates = (20.0, 40.0, 60.0, 80.0, 200.0)
    found = verdict(session(rates, Trouble(), timeout_s=0.5))
    assert found.capacity is not None
    assert found.capacity.kind == "keeps_up"
    assert found.regimes[-1].return_users == 80.0
    returned = verdict(session((*rates, 60.0, 60.0, 60.0, 60.0), Trouble(), timeout_s=0.5))
    assert returned.capacity is not None
    assert returned.capacity.kind == "capacity"
    assert returned.capacity.overload is not None
    assert returned.capacity.overload.kind == "times_out"


def test_a_backlog_that_times_out_after_a_return_is_overload_and_no_fault() -> None:
    """Failures begin late in a level, once the queue has grown to the timeout, and go on at a lower rate until it is gone."""
    impatient, rates = System(0.01, 0, timeout_s=2.0), (30.0, 60.0, 140.0, 130.0, 30.0)
    found = verdict(climbed(impatient, rates, 14, np.random.default_rng(7)).timeline)
    (overload,) = [each for each in found.regimes if each.began is not None]
    assert overload.began == "failures"
    assert not overload.inside


@pytest.mark.parametrize(
    ("rates", "settled_s", "recovered"),
    [
        ((40.0, 200.0, 40.0, 40.0), [None, 75.0], 34.0),
        ((40.0, 200.0, 40.0, 40.0, 40.0), [None, 75.0, 82.0], 34.0),
        ((40.0, 80.0, 130.0, 40.0, 80.0, 40.0), [72.0, 82.0, 102.0], 11.0),
        ((40.0, 150.0, 80.0, 80.0), [None, None], None),
    ],
    ids=["in the level after it", "two levels after it", "at a lower rate", "near the capacity, with no such rate before"],
)
def test_a_backlog_after_overload_is_no_other_service_and_in_no_figure(
    rates: tuple[float, ...], settled_s: list[float | None], recovered: float | None
) -> None:
    timeline = session(rates, Trouble())
    found = verdict(timeline)
    assert [level.settled_s for level in timeline.levels[-len(settled_s) :]] == settled_s
    assert found.regimes == ()
    assert [each.level for each in found.levels if each.why == "other_service"] == []
    assert next((each.after_s for each in found.recoveries if each.recovered), None) == recovered


def test_a_level_that_settles_while_a_backlog_is_worked_off_is_not_judged() -> None:
    """Before overload no rate was served, so the iterations in flight that 40/s needs are not known."""
    found = verdict(session((200.0, 40.0, 40.0), Trouble()))
    assert [(each.level, each.why, each.growth_per_s < 0) for each in found.levels[1:]] == [(2, "unsteady", True)]


@pytest.mark.parametrize(
    "seed",
    [960_023, 960_027, 960_034, 952_036, 952_077],
    ids=[
        "few seconds without failures",
        "a level split live",
        "refusals",
        "a queue that grows evenly",
        "a queue near the capacity",
    ],
)
def test_overload_of_an_unchanged_service_is_no_fault_in_time(seed: int) -> None:
    timeline = moving_rates("still", seed).timeline
    assert [each.began_s for each in verdict(timeline).regimes if each.inside] == []


@pytest.mark.parametrize(("most", "confidence", "is_near"), [(80.0, "high", False), (108.0, "medium", True)])
def test_a_long_queue_at_the_greatest_rate_leaves_doubt_whether_the_service_keeps_up(
    most: float, confidence: str, is_near: bool
) -> None:
    timeline = session((30.0, 60.0, most), Trouble())
    capacity = verdict(timeline).capacity
    assert capacity is not None
    assert (capacity.kind, capacity.confidence) == ("keeps_up", confidence)
    assert (capacity.slower_times is not None) == is_near


def test_other_processes_that_use_the_cpu_are_named_and_give_no_capacity() -> None:
    timeline = session((20.0, 40.0, 80.0), Trouble(41.0, speed=0.3, by_neighbour=True))
    found = verdict(timeline).capacity
    assert found is None or found.kind == "keeps_up"
    assert [mark.id for mark in current_marks(timeline, "bottleneck") if mark.id != "not_saturated"] == ["noisy_neighbours"]


def test_a_busy_resource_is_the_bottleneck_at_the_offered_rate_that_shows_it() -> None:
    timeline = session((20.0, 40.0, 60.0, 130.0, 160.0), Trouble())
    found = [mark for mark in current_marks(timeline, "bottleneck") if mark.severity != "info"]
    assert found
    assert {(mark.users, mark.offered_per_s) for mark in found} == {(None, 130.0)}


def test_below_the_capacity_no_limit_is_reached() -> None:
    (found,) = current_marks(session((20.0, 40.0, 60.0), Trouble()), "bottleneck")
    assert found.id == "not_saturated"
    assert found.offered_per_s == pytest.approx(60.0, rel=0.05)


def test_no_limit_is_reached_up_to_the_rate_that_arrived() -> None:
    timeline = session((20.0, 40.0), Trouble())
    (found,) = current_marks(timeline, "bottleneck")
    assert found.offered_per_s == pytest.approx(36.9, abs=0.1)


def test_a_rate_within_the_interval_of_the_capacity_does_not_show_that_no_limit_is_reached() -> None:
    epoch = epoch_of(session((20.0, 40.0, 60.0, 92.0, 130.0, 160.0), Trouble(), 10), 0)
    assert epoch.rates is not None
    assert epoch.rates.capacity is not None
    assert (epoch.rates.capacity.low_per_s or 0.0) < 92.0 < (epoch.rates.capacity.high_per_s or 0.0)
    (found,) = (mark for mark in bottlenecks.marks(epoch) if mark.id == "not_saturated")
    assert found.offered_per_s is not None
    assert found.offered_per_s <= 60.0


def test_a_pool_that_is_too_small_blames_nothing_inside_the_service() -> None:
    slow = System(0.1, 0, linear=True, service_spread="constant")
    run = VirtualRates(OpenRun(slow, np.random.default_rng(SEED), max_users=10, waiting_most=20))
    run.climb((40.0, 80.0, 160.0), LEVEL_S)
    run.end()
    assert [mark.id for mark in current_marks(run.timeline, "bottleneck") if mark.severity != "info"] == []


@pytest.mark.parametrize(
    "trouble", [Trouble(30.0, failing=1.0), Trouble(52.0, speed=0.5)], ids=["a fault", "half of the capacity"]
)
def test_live_detectors_and_reanalysis_agree(trouble: Trouble) -> None:
    changes = reanalyse(session((20.0, 40.0, 80.0), trouble, 40)).changes
    assert [each.key for each in changes if not each.key.startswith("cause:")] == []


def test_a_cause_names_the_offered_rate_and_not_the_users_of_its_pool() -> None:
    (cause,) = current_marks(session(BELOW, Trouble(30.0, failing=1.0)), "cause")
    assert (cause.users, cause.offered_per_s) == (None, 40.0)


@pytest.mark.parametrize("speed", [0.4, 2.5], ids=["slower", "faster"])
def test_a_service_that_changes_its_speed_at_a_rate_that_it_serves_is_a_shift_of_latency(speed: float) -> None:
    slow = System(1 / 30, 0, servers=1, service_spread="uniform", trouble=Trouble(60.0, speed=speed))
    timeline = climbed(slow, (9.0,), 110, np.random.default_rng(SEED)).timeline
    (shift,) = current_marks(timeline, "shift")
    assert shift.id == ("latency_rose" if speed < 1 else "latency_fell")
    assert shift.offered_per_s == 9.0
    assert [each.key for each in reanalyse(timeline).changes if not each.key.startswith("cause:")] == []


def test_latency_that_grows_with_a_queue_is_no_shift() -> None:
    timeline = climbed(System(1 / 30, 0), (36.0,), 90, np.random.default_rng(SEED)).timeline
    assert current_marks(timeline, "shift") == []


def test_clients_that_time_out_once_a_queue_has_filled_are_no_fault_in_time() -> None:
    """Near the capacity a queue wanders until it is as long as clients wait: what still succeeds is nearly as slow."""
    near = System(0.0184, 0, servers=2, service_spread="constant", noise=0.097, timeout_s=0.384)
    found = verdict(climbed(near, (21.6, 43.1, 64.7, 86.2, 107.8, 129.4, 21.6), 30, np.random.default_rng(SEED)).timeline)
    assert [each for each in found.regimes if each.inside] == []


@pytest.mark.parametrize(("at_s", "seed"), [(58.0, 0), (58.0, 3), (62.0, 1), (66.0, 2)])
def test_a_capacity_that_halves_at_a_rate_is_a_change_although_the_queue_then_grows_and_replies_say_so(
    at_s: float, seed: int
) -> None:
    """75/s are served, then 50/s: latency grows from there on, and replies of 14 bytes are two digits longer."""
    rng = np.random.default_rng([SEED, seed])
    timeline = climbed(System(0.04, 0, servers=4, trouble=Trouble(at_s, speed=0.5)), (40.0, 75.0, 20.0), 40, rng).timeline
    assert [mark.id for mark in current_marks(timeline, "shift")] == ["goodput_fell"]
    (changed,) = [regime for regime in verdict(timeline).regimes if regime.began == "goodput"]
    assert changed.began_s == pytest.approx(at_s, abs=4.0)
    found = verdict(timeline).capacity
    assert found is None or found.kind != "capacity" or found.per_s == pytest.approx(50.0, rel=0.1)
