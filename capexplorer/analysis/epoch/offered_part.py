"""Counts of iterations in some seconds of a level of an offered rate, from columns: levels are cut where the service changed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.figures import Latency
from ...model.level_fold import batch_error
from ...model.offered import Drops, OfferedFigures
from ...model.timeline import Timeline

COLUMNS = (
    "duration_s", "offered_per_s", "planned", "finished", "dropped_per_s", "in_flight", "queued", "from_plan_sum_ms",
    "dropped_by_target", "dropped_at_stop",
)  # fmt: skip
"""Columns of the seconds that are read."""


def offered_part(timeline: Timeline, ticks: Sequence[int], whole: OfferedFigures) -> OfferedFigures:
    """Figures of some settled seconds of a level, at least one.

    Columns have no failed iterations: they are what remains of those planned and in flight. Drops by the generator, for whichever
    reason, are `max_users`.
    """
    columns = timeline.columns
    values = {name: [columns[name][tick] for tick in ticks] for name in COLUMNS}
    seconds = math.fsum(values["duration_s"])
    counts = ("planned", "finished", "dropped_by_target", "dropped_at_stop")
    planned, finished, by_target, at_stop = (round(math.fsum(values[name])) for name in counts)
    dropped = round(math.fsum(map(math.prod, zip(values["dropped_per_s"], values["duration_s"], strict=True))))
    before, after = round(columns["in_flight"][ticks[0] - 1] if ticks[0] else 0.0), round(values["in_flight"][-1])
    return OfferedFigures(
        offered_per_s=round(math.fsum(values["offered_per_s"]) / len(ticks), 6),
        planned=planned,
        finished=finished,
        failed=max(planned + before - after - finished - dropped, 0),
        dropped=Drops(target=by_target, stopped=at_stop, max_users=max(dropped - by_target - at_stop, 0)),
        in_flight_before=before,
        in_flight=after,
        miscounted=whole.miscounted,
        finished_per_s=finished / seconds,
        finished_se_per_s=batch_error(list(zip(values["finished"], values["duration_s"], strict=True))),
        in_flight_mean=math.fsum(values["in_flight"]) / len(ticks),
        queued_mean=math.fsum(values["queued"]) / len(ticks),
        from_plan_ms=Latency(mean=math.fsum(values["from_plan_sum_ms"]) / finished if finished else None),
    )
