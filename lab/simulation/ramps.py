"""Ramps of simulated queues as Locust's `*_stats_history.csv`, imported as by `capexplorer import`.

Users start at a constant rate up to 1.3 to 3 N*; in half of the histories a constant load follows. Locust counts all requests
of a ramp and writes its counters once a second, so that no second of a ramp is settled.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.reanalysis import detect
from capexplorer.model.timeline import Timeline
from capexplorer.session.importers import imported

from .ladders import KINDS, Kind, Truth, random_system
from .queues import System, run

HEADER = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time\n"
EPOCH_S = 1_700_000_000
HOLDS_S = (0, 0, 20, 60)


@dataclass(frozen=True, slots=True)
class RampHistory:
    kind: str
    seed: int
    system: System
    truth: Truth
    top: float
    """Users at the end of the ramp, as a multiple of N*."""
    ramp_s: int
    hold_s: int
    timeline: Timeline


def ramp_history(kind: Kind, seed: int) -> RampHistory:
    """A random system of that kind under a random ramp of 20 to 240 s."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 11])
    system, truth = random_system(kind, rng)
    assert truth.knee_users is not None
    top = float(rng.uniform(1.3, 3.0))
    ramp_s, hold_s = round(float(np.exp(rng.uniform(np.log(20), np.log(240))))), int(rng.choice(HOLDS_S))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}-{seed}_stats_history.csv"
        path.write_text(history(system, rng, round(top * truth.knee_users), ramp_s, hold_s))
        timeline = Timeline(imported([path], None, settling_s))
    for found in detect(timeline):
        timeline.apply(found)
    return RampHistory(kind, seed, system, truth, top, ramp_s, hold_s, timeline)


def history(system: System, rng: np.random.Generator, users: int, ramp_s: int, hold_s: int) -> str:
    """Content of the file: the counters at the end of each second."""
    running = run(system, rng)
    requests, failures, spent_s = 0, 0, 0.0
    lines = [HEADER, f"{EPOCH_S},0,,Aggregated,0,0,0\n"]
    for second in range(1, ramp_s + hold_s + 1):
        count = max(1, round(users * min(second / ramp_s, 1.0)))
        running.to(count)
        running.until(float(second))
        ended = running.take_ended()
        requests, failures = requests + len(ended), failures + sum(not each.ok for each in ended)
        spent_s += sum(each.response_s for each in ended)
        mean_ms = 1000 * spent_s / requests if requests else 0.0
        lines.append(f"{EPOCH_S + second},{count},,Aggregated,{requests},{failures},{mean_ms:.6f}\n")
    return "".join(lines)
