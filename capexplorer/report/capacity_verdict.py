"""Draws the detector's verdict on the capacity picture: lines, knees with their intervals, and the USL fit.

For a log without verdicts it draws the marks. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import wording
from ..model.events import Verdict
from ..model.findings import CurveFinding
from ..model.timeline import Timeline
from ..model.verdicts import CurveFit, KneeVerdict, UslFit
from ..wording.quantities import rate
from . import figures
from .svg import Panel, Point, line, polyline, rectangle, text

Verdicts = Mapping[int, Verdict]
"""Verdicts by epoch."""

_LABEL_PX = 15
"""Vertical distance between the labels of two epochs."""
_USL_POINTS = 80


def knees(verdicts: Verdicts, goodput: Panel, latency: Panel) -> Iterator[str]:
    """The knees of both panels as intervals, lines and labels. Drawn before everything else, so that it is behind it."""
    for place, (epoch, verdict) in enumerate(sorted(verdicts.items())):
        knee, latency_knee = verdict.capacity.knee, verdict.capacity.latency_knee
        named = f"epoch {epoch}: " if len(verdicts) > 1 else ""
        if knee is not None and knee.kind != "no_knee" and knee.users is not None and knee.users <= goodput.x_most:
            yield from _knee(knee, named, place, goodput, latency)
        if latency_knee is not None and latency_knee.users is not None and latency_knee.users <= latency.x_most:
            x = latency.x(latency_knee.users)
            yield line("knee soft", (x, latency.top), (x, latency.bottom))
            yield text(
                *_label_position(x, latency, latency.top + 12),
                kind="alarm",
                sentence=f"{named}latency climbs from {latency_knee.users:g}",
            )


def _knee(knee: KneeVerdict, named: str, place: int, goodput: Panel, latency: Panel) -> Iterator[str]:
    assert knee.users is not None
    low, high = (0.0, knee.users) if knee.kind == "at_or_below" else (knee.users_low, knee.users_high)
    if knee.kind != "bend" and low is not None and high is not None:
        yield band(goodput, latency, low, high)
    x = goodput.x(knee.users)
    yield line("knee soft" if knee.kind == "bend" else "knee", (x, goodput.top), (x, latency.bottom))
    right = x > goodput.left + goodput.width / 2
    y = goodput.bottom - 8 - place * _LABEL_PX
    yield text(x - 6 if right else x + 6, y, named + wording.short_knee(knee), anchor="end" if right else "start", kind="alarm")


def _label_position(x: float, panel: Panel, y: float) -> Point:
    return (min(x + 5, panel.left + panel.width - 110), y)


def band(goodput: Panel, latency: Panel, low: float, high: float) -> str:
    """An interval of users over both panels."""
    left, right = goodput.x(max(0.0, low)), goodput.x(min(high, goodput.x_most))
    return rectangle("band", left, goodput.top, max(right - left, 1.0), latency.bottom - goodput.top)


def marked(timeline: Timeline, goodput: Panel, latency: Panel) -> Iterator[str]:
    """The knees drawn from marks, for a log without verdicts."""
    for mark in wording.current_marks(timeline).values():
        if mark.kind not in ("knee", "at_or_below", "bend"):
            continue
        if mark.users is None or mark.users > goodput.x_most:
            continue
        found = mark.finding.verdict if isinstance(mark.finding, CurveFinding) else None
        low, high = (None, None) if found is None else (found.users_low, found.users_high)
        if low is not None and high is not None:
            yield band(goodput, latency, low, high)
        x = goodput.x(mark.users)
        yield line("knee", (x, goodput.top), (x, latency.bottom))
        yield text(x + 5, goodput.bottom - 8, f"{mark.kind.replace('_', ' ')} {mark.users:g}", kind="alarm")


def lines(verdicts: Verdicts, goodput: Panel) -> Iterator[str]:
    """Low-load line, capacity line and USL fit of each epoch."""
    for _, verdict in sorted(verdicts.items()):
        curve = _shown(verdict)
        if curve is None:
            continue
        if curve.usl is not None:
            yield polyline("usl" if curve.usl.unreliable_why is None else "usl grey", _law(curve.usl, goodput))
        yield proportional(goodput, curve.low_load_rps_per_user)
        if curve.capacity_rps is not None:
            y = goodput.y(min(curve.capacity_rps, goodput.y_ticks[-1]))
            yield line("capacity", (goodput.left, y), (goodput.left + goodput.width, y))
            yield text(goodput.left + 6, y - 5, f"capacity {rate(curve.capacity_rps, figures.number)}", kind="alarm")


def proportional(goodput: Panel, rps_per_user: float) -> str:
    """A line through 0 up to the panel's edge."""
    end = min(goodput.x_most, goodput.y_ticks[-1] / rps_per_user) if rps_per_user > 0 else goodput.x_most
    return line("linear", (goodput.x(0), goodput.bottom), (goodput.x(end), goodput.y(max(end * rps_per_user, 0.0))))


def _law(usl: UslFit, goodput: Panel) -> list[Point]:
    points = []
    for step in range(_USL_POINTS + 1):
        n = goodput.x_most * step / _USL_POINTS
        rps = usl.lambda_rps * n / max(1 + usl.sigma * (n - 1) + usl.kappa * n * (n - 1), 1e-9)
        if 0 <= rps <= goodput.y_ticks[-1]:
            points.append((goodput.x(n), goodput.y(rps)))
    return points


def foot_lines(verdicts: Verdicts) -> list[str]:
    """Lines for the foot of the picture."""
    several = len(verdicts) > 1
    sentence = []
    for epoch, verdict in sorted(verdicts.items()):
        named, curve, knee = f"epoch {epoch}: " if several else "", _shown(verdict), verdict.capacity.knee
        parts = [wording.knee(knee)] if knee is not None else []
        parts += [f"low load {rate(curve.low_load_rps_per_user, figures.number)} per user"] if curve is not None else []
        sentence += [named + "; ".join(parts)] if parts else []
        sentence += [named + _usl_fit_text(curve.usl)] if curve is not None and curve.usl is not None else []
    return sentence


def _shown(verdict: Verdict) -> CurveFit | None:
    """The fitted curve to draw; None if all levels lie beyond the knee, since there is then no low-load line."""
    knee = verdict.capacity.knee
    return None if knee is not None and knee.kind == "at_or_below" else verdict.capacity.curve


def _usl_fit_text(usl: UslFit) -> str:
    peak = "no peak" if usl.peak_users is None else f"peak at {usl.peak_users:.0f} users"
    why = {None: "", "few_levels": "; too few levels", "no_bend": "; no saturation yet", "poor_fit": "; fits poorly"}[
        usl.unreliable_why
    ]
    return f"USL fit (thin): λ {rate(usl.lambda_rps)}, σ {usl.sigma:.3g}, κ {usl.kappa:.2g}, {peak}{why}"
