"""What a run keeps of each second, in virtual time: its columns, and nothing else."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from timeline_digest import digest

import capexplorer
from capexplorer.model.columns import ENDPOINT_COLUMNS
from capexplorer.model.timeline import TAIL_S, Timeline
from lab.simulation.queues import Run, System
from lab.simulation.virtual import VirtualRun

WARM_UP_S = TAIL_S + 80
"""Until then everything with a bound is full, such as the latest seconds that are kept whole."""
MEASURED_S = 2 * WARM_UP_S

DOUBLE, SINGLE = 8, 4
"""Bytes of a value in a column."""
INDEX = 4
"""Bytes of a level's index of a settled second."""
SPARE = 1 / 4
"""An array has up to 1/16 of its length free at its end, 1/10 of the seconds measured; the product's caches vary by 15 KB."""
MOST_AN_HOUR = 1_000_000
"""Bytes that may be kept of an hour."""

_OF_THE_PRODUCT = [tracemalloc.Filter(True, str(Path(capexplorer.__file__).parent / "*"))]
"""What libraries cache, and threads of earlier tests in this process, changes by 50 KB meanwhile."""


def _used(run: VirtualRun) -> int:
    """Bytes in use that the product asked for, once the histograms that wait are merged."""
    assert run.timeline.level is not None
    _ = run.timeline.level.histogram
    gc.collect()
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(_OF_THE_PRODUCT).traces)


@pytest.mark.slow
def test_a_second_adds_its_columns_and_nothing_else_though_two_timelines_fold_it() -> None:
    run = VirtualRun(Run(System(service_s=0.01, think_s=1.0), np.random.default_rng(1)))
    follower = Timeline(seconds_of=run.timeline)
    tracemalloc.start()
    try:
        run.step(2)
        used = []
        for seconds in (WARM_UP_S, MEASURED_S):
            for _ in range(seconds):
                run.second()
                for event in run.sink.take():
                    follower.apply(event)
            _ = follower.levels[-1].histogram
            used.append(_used(run))
    finally:
        tracemalloc.stop()
    columns = len({id(column) for column in run.timeline.columns.values()})
    a_second = DOUBLE * columns + SINGLE * len(ENDPOINT_COLUMNS) + 2 * INDEX
    grown = (used[1] - used[0]) / MEASURED_S
    assert a_second * (1 - SPARE) <= grown <= a_second * (1 + SPARE)
    assert grown * 3600 <= MOST_AN_HOUR
    assert digest(follower) == digest(run.timeline)
