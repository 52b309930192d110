"""What a sweep found with each setting, from the verdict on its epoch."""

from __future__ import annotations

from msgspec.structs import replace

from ...analysis.epoch_view import EpochView
from ...analysis.sweep import begun, end_of
from ...model.intervals import Z90
from ...model.level import Level
from ...model.sweep import Params, SettingResult
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict
from ..compare.curves import is_disturbed


def results(timeline: Timeline) -> tuple[SettingResult | None, ...]:
    """The result of each setting, here or in the sweep that this one continues; None: it was not explored yet. Empty if the
    session is no sweep.
    """
    sweep, epochs = timeline.sweep, begun(timeline)
    if sweep is None:
        return ()
    earlier = {frozenset(each.params.items()): each for each in sweep.earlier}
    return tuple(
        _result(timeline, params, epochs[index], finds_rate=sweep.finds_rate)
        if index in epochs
        else earlier.get(frozenset(params.items()))
        for index, params in enumerate(sweep.settings)
    )


def _result(timeline: Timeline, params: Params, epoch: int, *, finds_rate: bool) -> SettingResult:
    view = EpochView(timeline, epoch)
    ended, why = end_of(timeline, epoch)
    loaded = [level for level in view.levels() if level.has_load]
    first_s, last_s = (loaded[0].opened.t_s, loaded[-1].ended_s or timeline.last_s) if loaded else (0.0, 0.0)
    limits = view.bottlenecks()
    found = SettingResult(
        params=params,
        session=timeline.header.id if timeline.header is not None else "",
        epoch=epoch,
        ended=ended,
        why=why,
        limit=limits[0].id if limits else None,
        invalid=view.invalid.first.id if view.invalid is not None else None,
        levels=len(view.loaded()),
        disturbed_levels=len(view.disturbed()),
        seconds=last_s - first_s,
    )
    return _with_rates(found, view) if finds_rate else _with_users(found, view)


def _with_users(found: SettingResult, view: EpochView) -> SettingResult:
    """With the knee and its capacity. Without one, or if the generator was the limit, the greatest goodput of a level that counts
    is the least that it can be.
    """
    knee, curve = view.knee, view.capacity.curve if view.capacity is not None else None
    if knee is None:
        return found
    found = replace(found, knee=knee, **_others(view, knee.users_low or 0.0))
    counted = [level for level in view.settled() if view.use(level).why is None and not level.opened.ramp]
    if knee.kind == "knee" and knee.limit != "generator" and knee.capacity_rps is not None and curve is not None:
        found = replace(found, per_s=knee.capacity_rps, se_per_s=curve.capacity_se_rps)
    elif counted:
        most = max((level.figures for level in counted), key=lambda figures: figures.goodput_rps or 0.0)
        found = replace(found, per_s=most.goodput_rps, se_per_s=most.goodput_se_rps, is_least=True)
    nearest = min(counted, key=lambda level: _distance(level, knee), default=None)
    if nearest is None:
        return found
    return replace(found, p95_ms=nearest.figures.latency_ms.p95, p95_at=float(nearest.users))


def _distance(level: Level, knee: KneeVerdict) -> tuple[float, float]:
    """From the knee, in users; of equal ones the longest level is the nearest."""
    return abs(level.users - (knee.users or 0.0)), -level.figures.settled_seconds


def _with_rates(found: SettingResult, view: EpochView) -> SettingResult:
    """With the capacity as a rate; without one the highest rate that was served in full is the least that it can be."""
    rates = view.rates
    capacity = rates.capacity if rates is not None else None
    if rates is None or capacity is None:
        return found
    found = replace(found, rates=capacity, **_others(view, capacity.kept_per_s or 0.0))
    served = {each.level for each in rates.levels if each.state == "kept" and each.why is None}
    kept = [(level.load.per_s or 0.0, level.figures.offered) for level in view.loaded() if level.opened.index in served]
    per_s, offered = max(kept, key=lambda each: each[0], default=(None, None))
    if offered is not None:
        found = replace(found, p95_ms=offered.from_plan_ms.p95, p95_at=per_s)
    is_known = capacity.kind == "capacity" and capacity.limit != "generator"
    if is_known and capacity.low_per_s is not None and capacity.high_per_s is not None:
        return replace(found, per_s=capacity.per_s, se_per_s=(capacity.high_per_s - capacity.low_per_s) / (2 * Z90))
    return replace(found, per_s=per_s, is_least=per_s is not None)


def _others(view: EpochView, limit: float) -> dict[str, bool]:
    """What other processes did in levels that count whose load, users or a rate, is at least `limit`."""
    header = view.timeline.header
    cpus = header.host.cpus if header is not None else None
    at_limit = [level for level in view.loaded() if level.load.amount >= limit and view.use(level).why is None]
    return {
        "is_disturbed": any(view.use(level).is_disturbed for level in at_limit),
        "are_others_busy": any(is_disturbed(level.figures, cpus) for level in at_limit),
    }
