"""What a run keeps of each second, in virtual time: its columns, and nothing else."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np

from capexplorer.model.endpoint_columns import ENDPOINT_COLUMNS
from capexplorer.model.timeline import TAIL_S
from lab.simulation.queues import Run, System
from lab.simulation.virtual_run import VirtualRun

WARM_UP_S = TAIL_S + 80
"""Until then everything with a bound is full, such as the latest seconds that are kept whole."""
MEASURED_S = 2 * WARM_UP_S

DOUBLE, SINGLE = 8, 4
"""Bytes of a value in a column."""
SPARE = 1 / 8
"""An array has up to 1/16 of its length free at its end: of the seconds measured a little more."""

_NOT_OF_RUNS = [tracemalloc.Filter(False, pattern) for pattern in ("*/lab/*", tracemalloc.__file__)]


def _used(run: VirtualRun) -> int:
    """Bytes in use without those of the simulation, once the histograms that wait are merged."""
    assert run.timeline.level is not None
    _ = run.timeline.level.histogram
    gc.collect()
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(_NOT_OF_RUNS).traces)


def test_a_second_adds_its_columns_and_nothing_else() -> None:
    run = VirtualRun(Run(System(service_s=0.01, think_s=1.0), np.random.default_rng(1)))
    tracemalloc.start()
    try:
        run.step(2)
        used = []
        for seconds in (WARM_UP_S, MEASURED_S):
            for _ in range(seconds):
                run.second()
                run.sink.take()
            used.append(_used(run))
    finally:
        tracemalloc.stop()
    (level,) = run.timeline.levels
    assert level.fold is not None
    columns = len(run.timeline.columns) + len(level.fold.columns)
    a_second = DOUBLE * columns + SINGLE * len(ENDPOINT_COLUMNS)
    grown = (used[1] - used[0]) / MEASURED_S
    assert a_second * (1 - SPARE) <= grown <= a_second * (1 + SPARE)
