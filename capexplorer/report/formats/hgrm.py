"""`export --format hgrm`: one HdrHistogram percentile distribution per level, in ms, in the format of HdrHistogram's plotters.

The file of a level of users has the latencies of successes in settled seconds, of all endpoints together, as measured: nothing is
corrected for coordinated omission, since in a closed-loop test users wait for their responses. A rate level has two files:
`service-time`, with the same latencies, and `time-from-plan`, with the times of iterations from the moment at which each was due.
Each stage of replies that are streams has a further one, such as `ttft`.

The library's `output_percentile_distribution` is not used: it does not scale the standard deviation, has other steps than the
original of HdrHistogram, and iterates over 23,552 counters in Python.
"""

from __future__ import annotations

from ...model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import math
from collections.abc import Iterator, Sequence

import numpy as np
from hdrh.histogram import HdrHistogram

from ...errors import InputError
from ...model.histogram import LatencyHistogram, merged
from ...model.stages import LATENCY_KINDS, texts
from ...model.timeline import Timeline
from ..rows import ReportedLevel, level_rows
from . import Format

_TICKS_PER_HALF = 5
"""Lines for each halving of the distance to 100%: the format's default."""
_US_PER_MS = 1000


def render(timeline: Timeline) -> dict[str, bytes]:
    """The files, for each level or bin of a ramp one for each latency that it has. Raises InputError if none has."""
    folds = {level.opened.index: level.fold for level in timeline.levels}
    files: dict[str, bytes] = {}
    for row in level_rows(timeline):
        fold, offered = folds[row.opened.index] if row.bin is None else None, row.figures.offered
        kinds = LATENCY_KINDS if timeline.stages else LATENCY_KINDS[:1]
        if fold is not None:  # of an open level; a closed one has its recorded histograms
            latencies = {kind: fold.merged.histogram(kind) for kind in kinds}
            from_plan = fold.merged.offered.histogram
        else:
            latencies = {kind: merged(texts(row.endpoints, kind)) for kind in kinds}
            from_plan = merged([offered.from_plan] if offered is not None and offered.from_plan else [])
        whole = latencies.pop("total")
        found = {"": whole} if row.offered_per_s is None else {"-service-time": whole, "-time-from-plan": from_plan}
        found |= {f"-{stage}": each for stage, each in latencies.items()}
        files |= {f"{_name(row)}{what}.hgrm": distribution(one) for what, one in found.items() if one.count}
    if not files:
        raise InputError("hgrm: no level of this session has a latency histogram: there is no distribution to write")
    return files


def distribution(histogram: LatencyHistogram) -> bytes:
    """The text of a file, with the columns value in ms, percentile from 0 to 1, cumulative count, and 1/(1-percentile)."""
    hdr = HdrHistogram.decode(histogram.encode())
    counters = np.frombuffer(hdr.counts, dtype=np.int64)
    used = np.flatnonzero(counters).tolist()
    counts = counters[used]
    lowest_us = np.array([hdr.get_value_from_index(index) for index in used], dtype=np.float64)
    highest_us = np.array([hdr.get_highest_equivalent_value(int(value)) for value in lowest_us], dtype=np.float64)
    lines = ["%12s %14s %10s %14s" % ("Value", "Percentile", "TotalCount", "1/(1-Percentile)"), ""]  # noqa: UP031
    for value_us, percent, count in _steps(highest_us.tolist(), np.cumsum(counts).tolist()):
        tail = f" {1 / (1 - percent / 100):14.2f}" if percent < 100 else ""
        lines.append(f"{value_us / _US_PER_MS:12.3f} {percent / 100:2.12f} {count:10d}{tail}")
    middle_us, total = (lowest_us + highest_us + 1) // 2, int(counts.sum())
    mean_us = float(middle_us @ counts) / total
    deviation_us = math.sqrt(float((middle_us - mean_us) ** 2 @ counts) / total)
    lines.append(f"#[Mean    = {mean_us / _US_PER_MS:12.3f}, StdDeviation   = {deviation_us / _US_PER_MS:12.3f}]")
    lines.append(f"#[Max     = {highest_us[-1] / _US_PER_MS:12.3f}, Total count    = {total:12d}]")
    lines.append(f"#[Buckets = {hdr.bucket_count:12d}, SubBuckets     = {hdr.sub_bucket_count:12d}]")
    return ("\n".join(lines) + "\n").encode()


def _steps(values: Sequence[float], totals: Sequence[int]) -> Iterator[tuple[float, float, int]]:
    """(value, percent, cumulative count) of each line. Steps halve with each halving of the distance to 100%.

    `values`, `totals`: ascending values and their cumulative counts.
    """
    percent = 0.0
    for value, total in zip(values, totals, strict=True):
        while 100 * total / totals[-1] >= percent:
            yield value, percent, total
            halvings = int(math.log2(100 / (100 - percent))) + 1
            percent += 100 / (_TICKS_PER_HALF * 2**halvings)
            if total == totals[-1]:
                break
    yield values[-1], 100.0, totals[-1]


def _name(row: ReportedLevel) -> str:
    part = "" if row.bin is None else f"-bin-{row.bin:02}"
    load = f"users-{row.users:g}" if row.offered_per_s is None else f"rate-{row.offered_per_s:g}"
    return f"level-{row.opened.index:02}{part}-{load}"


FORMAT = Format(
    name="hgrm",
    place=5,
    description="a folder: one percentile distribution per level",
    files=lambda timeline, _: render(timeline),
)
