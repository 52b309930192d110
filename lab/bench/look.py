"""CPU cost of one analysis during a run: all marks of an epoch of 24 levels, and the detection of leaks and shifts.

CPU time of the thread, median of 30; the thread holds the interpreter lock all that time. The baseline is one verdict on the same
levels: the ratio shows how much is computed in addition or more than once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.epoch.recovery import analyse
from capexplorer.model.events import LevelClosed
from capexplorer.model.timeline import Timeline
from capexplorer.run.live_marks import LiveMarks

from . import day_log

LEVELS = 24
LEVEL_S = 40
REPEATS = 30
MOST_MS = 5.0


def main() -> None:
    timeline = session()
    marks = LiveMarks(timeline, lambda event: None, lambda: timeline.last_s, lambda since_s, column: False)
    ladder = epoch_of(timeline, 0).judgeable
    verdict_ms, all_ms = cost_ms(lambda: analyse(ladder)), cost_ms(marks.judge)
    print(f"a verdict on {len(ladder)} levels: {verdict_ms:.2f} ms; all marks: {all_ms:.2f} ms (at most {MOST_MS:.0f}), ", end="")
    print(f"{all_ms / verdict_ms:.2f} times a verdict")
    print(f"detection of leaks: {cost_ms(lambda: marks.emit_leaks(0)):.2f} ms, ", end="")
    print(f"of shifts: {cost_ms(marks.split_at_shifts):.2f} ms")


def session() -> Timeline:
    """A session of LEVELS levels, of which the last one is still open."""
    events = list(day_log.events(LEVELS * LEVEL_S, LEVELS, seed=3))
    last = max(at for at, event in enumerate(events) if isinstance(event, LevelClosed))
    return Timeline(events[:last])


def cost_ms(act: Callable[[], object]) -> float:
    """CPU time of a call, the median of REPEATS."""
    spent = []
    for _ in range(REPEATS):
        began_s = time.thread_time()
        act()
        spent.append(1000 * (time.thread_time() - began_s))
    return statistics.median(spent)


if __name__ == "__main__":
    main()
