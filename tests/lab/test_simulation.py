"""The simulator agrees with exact results; all accuracy figures depend on it."""

from __future__ import annotations

import numpy as np
import pytest

from lab.population.families import random_service
from lab.simulation.exact import closed_loss_rps, knee, mva, servers, throughput_rps, usl
from lab.simulation.ladders import KINDS, Kind, ladder, linear_ladder
from lab.simulation.open_queue import OpenRun, mean_wait_s, theory_wait_s
from lab.simulation.queues import CV2, Spread, System, draws, run

LONG_S = 2_000.0


def simulated_rps(system: System, users: int, seed: int = 1) -> float:
    running = run(system, np.random.default_rng(seed))
    running.to(users)
    running.until(LONG_S)
    return float((np.array(running.ended_s) > LONG_S / 10).sum()) / (LONG_S * 0.9)


@pytest.mark.parametrize("users", [1, 10, 50, 51, 80])
def test_mean_value_analysis_and_the_birth_death_chain_agree(users: int) -> None:
    throughput, response_s = mva(users, think_s=1.0, service_s=0.02)
    assert throughput == pytest.approx(throughput_rps(users, 1.0, servers(1, 0.02)))
    assert users == pytest.approx(throughput * (response_s + 1.0))


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("share", [0.2, 0.8, 1.0, 1.6])
def test_simulated_throughput_is_the_exact_one(count: int, share: float) -> None:
    system = System(service_s=count * 0.02, think_s=1.0, servers=count)
    users = max(1, round(share * knee(1.0, count, count * 0.02)))
    assert simulated_rps(system, users) == pytest.approx(throughput_rps(users, 1.0, servers(count, count * 0.02)), rel=0.02)


@pytest.mark.parametrize(("users", "spread"), [(6, "exponential"), (12, "uniform"), (30, "exponential")])
def test_a_small_pool_that_refuses_serves_what_engset_says(users: int, spread: Spread) -> None:
    system = System(0.1, 0.4, servers=4, service_spread=spread, queue_limit=4)
    running = run(system, np.random.default_rng(1))
    running.to(users)
    running.until(LONG_S)
    served = sum(ok and ended > LONG_S / 10 for ended, ok in zip(running.ended_s, running.ok, strict=True)) / (LONG_S * 0.9)
    assert served == pytest.approx(closed_loss_rps(users, 0.4, 4, 0.1), rel=0.02)


@pytest.mark.parametrize("users", [10, 40, 80])
def test_a_simulated_retrograde_server_follows_its_law(users: int) -> None:
    system = System(service_s=0.1, think_s=1.0, usl=(0.02, 0.002))
    assert simulated_rps(system, users) == pytest.approx(throughput_rps(users, 1.0, usl(10.0, 0.02, 0.002)), rel=0.03)


@pytest.mark.parametrize("spread", ["constant", "uniform", "exponential", "lognormal"])
def test_capacity_and_low_load_do_not_depend_on_the_spread_of_service_times(spread: Spread) -> None:
    system = System(service_s=0.02, think_s=1.0, service_spread=spread)
    assert simulated_rps(system, 1) == pytest.approx(1 / 1.02, rel=0.04)
    assert simulated_rps(system, 150) == pytest.approx(50.0, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_reaches_its_capacity_and_no_more(kind: Kind) -> None:
    for seed in range(200_000, 200_003):
        climbed = ladder(kind, seed)
        assert climbed.truth.capacity_rps is not None
        greatest = max(float(level.goodput.mean()) for level in climbed.levels)
        assert greatest == pytest.approx(climbed.truth.capacity_rps, rel=0.2)


@pytest.mark.parametrize("seed", [200_003, 200_006])
def test_the_capacity_of_limited_ports_is_the_simulated_goodput_of_twice_the_users(seed: int) -> None:
    system, true = random_service("ports", np.random.default_rng(seed))
    assert true.capacity_rps is not None and true.knee_users is not None
    running = run(system, np.random.default_rng(1))
    running.to(round(2 * true.knee_users))
    running.until(400.0)
    succeeded = [ended for ended, ok in zip(running.ended_s, running.ok, strict=True) if ok and 40 < ended <= 400]
    assert len(succeeded) / 360 == pytest.approx(true.capacity_rps, rel=0.03)


@pytest.mark.parametrize("spread", CV2)
def test_random_times_have_their_mean_and_their_variation(spread: Spread) -> None:
    times = draws(np.random.default_rng(1), 0.2, spread, 400_000)
    assert times.mean() == pytest.approx(0.2, rel=0.01)
    assert times.var() / times.mean() ** 2 == pytest.approx(CV2[spread], rel=0.05)


def test_a_limiter_serves_its_rate_and_no_more() -> None:
    limited = System(service_s=0.01, think_s=0.5, limiter=(30.0, 15.0))
    running = run(limited, np.random.default_rng(1))
    running.to(60)
    running.until(100.0)
    assert sum(running.ok) == pytest.approx(30.0 * 100 + 15, abs=2)


@pytest.mark.parametrize(("servers", "spread"), [(1, "exponential"), (1, "constant"), (4, "exponential")])
def test_arrivals_wait_as_long_as_theory_says(servers: int, spread: Spread) -> None:
    system = System(servers * 0.01, 0.0, servers, service_spread=spread)
    queue = OpenRun(system, np.random.default_rng(1))
    queue.offer(70.0)
    queue.until(100.0)
    assert mean_wait_s(queue.until(3_000.0), system.service_s) == pytest.approx(theory_wait_s(0.7, system), rel=0.1)


def test_a_linear_system_never_saturates() -> None:
    climbed = linear_ladder(200_000)
    first, last = climbed.levels[0], climbed.levels[-1]
    assert last.goodput.mean() / last.users == pytest.approx(first.goodput.mean() / first.users, rel=0.2)


def test_the_same_seed_gives_the_same_ladder() -> None:
    one, other = ladder("queue", 200_001), ladder("queue", 200_001)
    assert all((a.goodput == b.goodput).all() for a, b in zip(one.levels, other.levels, strict=True))
