"""The gate: a busy resource is a bottleneck only where more users do not increase goodput."""

from __future__ import annotations

from typing import Literal

import pytest

from analysis.loads import Load
from capexplorer.analysis.bottleneck.gate import gate_of
from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import pooled
from lab.simulation.ladders import Kind, linear_ladder, shown
from lab.simulation.ladders import ladder as climbed

from .levels import LINEAR, TWO_CORES, bottleneck_marks, states_by_id

GATES: list[tuple[str, tuple[Load, ...], bool]] = [
    ("two levels are enough where users doubled", (Load(8, 78, 50), Load(16, 79, 110)), True),
    ("20% more users, 1% more work", (Load(50, 100, 200), Load(60, 101, 300)), True),
    ("20% more users, 12% more work", (Load(50, 100, 200), Load(60, 112, 300)), False),
    ("too few more users to decide", (Load(50, 100, 200), Load(55, 101, 300)), False),
    ("noisy levels", (Load(8, 78, 50, figures={"goodput_se_rps": 20.0}),
                      Load(16, 79, 110, figures={"goodput_se_rps": 20.0})), False),
    ("flat, but latency did not rise", (Load(8, 78, 50), Load(16, 79, 51)), False),
    ("flat, and latency may have risen", (Load(8, 78, 50), Load(16, 79, 60, figures={"latency_se_ms": 8.0})), False),
    ("goodput collapses", (Load(8, 78, 50), Load(16, 20, 500)), True),
    ("a knee far below, and goodput creeps up", (*LINEAR, Load(16, 98, 110), Load(32, 104, 260), Load(64, 112, 520)), True),
    ("one level alone", (Load(64, 100, 500),), False),
    ("a return to a load that made more before", (*LINEAR, Load(16, 98, 110), Load(32, 100, 260), Load(8, 30, 500)), False),
]  # fmt: skip


@pytest.mark.parametrize(("why", "loads", "opens"), GATES, ids=[each[0] for each in GATES])
def test_the_gate_opens_where_more_users_do_not_increase_goodput(why: str, loads: tuple[Load, ...], opens: bool) -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    marks = bottleneck_marks(*loads[:-1], Load(**{**vars(loads[-1]), "readings": busy}))
    assert ("target_cpu_saturated" in marks) is opens


def test_requests_in_the_accept_queue_open_the_gate_even_if_latency_stays_flat() -> None:
    """Four blocking workers, 32 keep-alive users: Recv-Q 56, CPU 0, median latency 51 ms (docs/causes.md, measured)."""
    marks = bottleneck_marks(Load(4, 78, 51), Load(8, 78, 51, readings={"target.listen_queue": 4.0}),
                  Load(32, 78, 51, failure_ratio=0.03, readings={"target.listen_queue": 56.0}))  # fmt: skip
    assert states_by_id(marks) == {"worker_pool_exhausted": "open"}
    assert marks["worker_pool_exhausted"].users == 8
    assert marks["worker_pool_exhausted"].finding.figures()["listen_queue"] == 56.0


def test_an_accept_queue_is_no_worker_limit_if_other_processes_use_the_cpu_of_the_service() -> None:
    """Measured with nginx beside busy processes: 0.14 cores, a run delay of 0.48, 12 of 20 users in the accept queue."""
    starved = {"target.listen_queue": 11.6, "target.cpu_ratio": 0.14, "target.run_delay_ratio": 0.475, "host.cpu_ratio": 2.0,
               "target.busiest_thread_ratio": 0.14}  # fmt: skip
    marks = bottleneck_marks(
        Load(2, 1900, 1.3), Load(5, 1940, 2.3, readings=starved), Load(20, 1950, 7.1, readings=starved), host=TWO_CORES
    )
    assert "worker_pool_exhausted" not in marks


def test_a_rise_of_latency_within_the_lag_of_the_generators_timers_does_not_open_the_gate() -> None:
    busy = {"target.cpu_ratio": 3.9, "host.cpu_ratio": 3.95}
    late = {"loop_lag_p99_ms": 40.0}
    assert "target_cpu_saturated" not in bottleneck_marks(Load(8, 78, 5), Load(16, 79, 20, readings=busy, figures=late))
    assert "target_cpu_saturated" in bottleneck_marks(Load(8, 78, 5), Load(16, 79, 20, readings=busy))


# -- the gate, simulated


@pytest.mark.parametrize("kind", ["queue", "usl", "linear"])
def test_the_gate_stays_closed_below_the_knee_and_opens_beyond_it(kind: Kind | Literal["linear"]) -> None:
    """Levels of 8 s, judged one by one; 60 ladders a kind: open at 0 of 1,079 below 0.7 N*, at 543 of 600 beyond 1.4 N*."""
    below, beyond = [], []
    for seed in range(200_000, 200_005):
        ladder = linear_ladder(seed, 8) if kind == "linear" else climbed(kind, seed, level_s=8)
        levels, knee = shown(ladder), ladder.truth.knee_users
        for top in range(1, len(levels)):
            gate = gate_of(levels[top], pooled(levels[: top + 1]), judge(levels[: top + 1]).knee)
            if knee is None or levels[top].users <= 0.7 * knee:
                below.append(gate.is_open)
            elif levels[top].users >= 1.4 * knee:
                beyond.append(gate.is_open)
    assert below
    assert below.count(True) == 0
    assert bool(beyond) == (kind != "linear")
    assert beyond.count(True) >= 0.8 * len(beyond)
