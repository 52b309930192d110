"""The capacity picture: goodput against users with error bars, and latency below it, one colour for each epoch.

The SVG is written here instead of by a chart library: it has the same bytes every time and needs no dependency. It takes 2 ms;
vl-convert held the GIL for 190 ms to render and for 2 s to bundle its script, and no load was made meanwhile (the live screen
exports too).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import msgspec

from .. import wording
from ..model.events import Verdict
from ..model.timeline import Timeline
from ..model.verdicts import CurveFit, KneeVerdict, UslFit
from ..wording import numbers, quantities
from ..wording.quantities import rate
from .escaping import html
from .rows import ReportedLevel, epochs, user_rows
from .svg import DARK, LIGHT, Panel, Point, circle, latency_label, line, panel, polyline, rectangle, rules, text, triangle

# -- capacity verdict ----------------------------------------------------------------------------------------------------------
# Draws the detector's verdict on the capacity picture: lines, knees with their intervals, and the USL fit.


Verdicts = Mapping[int, Verdict]
"""Verdicts by epoch."""

_LABEL_PX = 15
"""Vertical distance between the labels of two epochs."""
_USL_POINTS = 80


def knee_layers(verdicts: Verdicts, goodput: Panel, latency: Panel) -> Iterator[str]:
    """The knees of both panels as intervals, lines and labels. Drawn before everything else, so that it is behind it."""
    for place, (epoch, verdict) in enumerate(sorted(verdicts.items())):
        knee, latency_knee = verdict.capacity.knee, verdict.capacity.latency_knee
        named = f"epoch {epoch}: " if len(verdicts) > 1 else ""
        if knee is not None and knee.kind != "no_knee" and knee.users is not None and knee.users <= goodput.x_most:
            yield from _knee(knee, named, place, goodput, latency)
        if latency_knee is not None and latency_knee.users is not None and latency_knee.users <= latency.x_most:
            x = latency.x(latency_knee.users)
            yield line("knee soft", (x, latency.top), (x, latency.bottom))
            left = min(x + 5, latency.left + latency.width - 110)
            yield text(left, latency.top + 12, f"{named}latency climbs from {latency_knee.users:g}", kind="alarm")


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


def band(goodput: Panel, latency: Panel, low: float, high: float) -> str:
    """An interval of users over both panels."""
    left, right = goodput.x(max(0.0, low)), goodput.x(min(high, goodput.x_most))
    return rectangle("band", left, goodput.top, max(right - left, 1.0), latency.bottom - goodput.top)


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
            yield text(goodput.left + 6, y - 5, f"capacity {rate(curve.capacity_rps, numbers.significant)}", kind="alarm")


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
        parts += [f"low load {rate(curve.low_load_rps_per_user, numbers.significant)} per user"] if curve is not None else []
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


WIDTH, HEIGHT = 760, 480
_LINE = 16
"""Height of one line of text below the panels."""
_LINE_CHARACTERS = 90
"""Most characters of a line below the panels: it has 672 px, and DejaVu Sans, the widest font used, takes 7.3 px for each."""
_LEFT, _RIGHT = 64, 24
_SQUARES = {
    "recovery": "recovery",
    "disturbed": "disturbed by other processes",
    "stacks": "sampled stacks",
    "experiment": "an experiment",
}
_TRIANGLES = {"other_service": "another state of the service", "changed": "a change during the level"}
_NO_CURVE = (*_SQUARES, *_TRIANGLES)
_LABELLED_MOST = 16
"""Maximum number of points with a label; more would overlap."""
_LABEL_HEIGHT, _DIGIT_WIDTH = 13.0, 7.6
"""Height of a label, and the most that one of its characters takes, px."""


class _Scene(msgspec.Struct, frozen=True):
    rows: list[ReportedLevel]
    goodput: Panel
    latency: Panel
    latency_title: str
    solid_ms: Callable[[ReportedLevel], float | None]
    """Returns the latency of the solid line: p50, or the mean if the source has no percentiles."""


def picture(timeline: Timeline) -> bytes | None:
    """The picture as a separate file, light or dark by the reader's system setting. None if no level has a goodput."""
    drawn = drawing(timeline)
    if drawn is None:
        return None
    style = f"<style>{rules(LIGHT)}@media(prefers-color-scheme:dark){{{rules(DARK)}}}</style>"
    head, body = drawn.split("\n", 1)
    return f"{head}\n{style}\n{body}\n".encode()


def drawing(timeline: Timeline) -> str | None:
    """The picture without a style sheet, for a page that has one."""
    rows = [row for row in user_rows(timeline) if row.figures.goodput_rps is not None and row.users > 0]
    if not rows:
        return None
    scene, verdicts = _scene(rows, timeline), wording.reported(timeline)
    work = "finished work" if timeline.limits is None else "requests within limits"
    knees = knee_layers(verdicts, scene.goodput, scene.latency)
    foot = [*_sign_lines(scene, drawn=bool(verdicts)), *foot_lines(verdicts)]
    height, labelled = HEIGHT + 8 + _LINE * len(foot), _labelled(scene)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_label(rows, foot)}">',
        rectangle("paper", 0, 0, WIDTH, height),
        *knees,
        *scene.goodput.axes(f"Goodput ({work} per second), mean with its 95% interval"),
        *scene.latency.axes(scene.latency_title, "users", latency_label),
        *(lines(verdicts, scene.goodput) if verdicts else _linear(scene)),
        *(part for epoch in epochs(rows) for part in _epoch(epoch, scene)),
        *(part for index, row in enumerate(rows) for part in _point(index, row, scene, is_labelled=index in labelled)),
        *_epoch_legend(scene),
        *(text(_LEFT, HEIGHT + 4 + _LINE * index, sentence, kind="muted") for index, sentence in enumerate(foot)),
        "</svg>",
    ]
    return "\n".join(parts)


def _scene(rows: list[ReportedLevel], timeline: Timeline) -> _Scene:
    most = 1.03 * max(row.users for row in rows)
    curves = [verdict.capacity.curve for verdict in wording.reported(timeline).values()]
    rps = max(
        *(max(row.figures.throughput_rps or 0, (row.figures.goodput_rps or 0) + (row.goodput_error_rps or 0)) for row in rows),
        *(curve.capacity_rps or 0 for curve in curves if curve is not None),
        0,
    )
    title, solid_ms = _latency(rows)
    ms = max(max(row.figures.latency_ms.p95 or 0, solid_ms(row) or 0) for row in rows)
    width = WIDTH - _LEFT - _RIGHT
    goodput, latency = panel(_LEFT, 36, width, 236, most, rps), panel(_LEFT, 322, width, 110, most, ms)
    return _Scene(rows, goodput, latency, title, solid_ms)


def _latency(rows: list[ReportedLevel]) -> tuple[str, Callable[[ReportedLevel], float | None]]:
    if any(row.figures.latency_ms.p50 is not None for row in rows):
        title = quantities.latency_title("Latency of successes", ", ")
        return f"{title}: p95 dashed, p50 solid", lambda row: row.figures.latency_ms.p50
    known = any(row.figures.latency_ms.mean is not None for row in rows)
    title = quantities.latency_title("mean", ", ") if known else "not measured"
    return f"Latency of successes: {title}", lambda row: row.figures.latency_ms.mean


def _label(rows: list[ReportedLevel], foot: list[str]) -> str:
    best = max(rows, key=lambda row: row.figures.goodput_rps or 0)
    most = f"{quantities.rate(best.figures.goodput_rps, numbers.significant)} at {numbers.users_of_level(best.users)} users"
    return html("; ".join((f"Goodput against users; the highest is {most}", *foot)))


def _series(epoch: int) -> str:
    return f"e{epoch % len(LIGHT.series)}"


def _points_of(rows: list[ReportedLevel], epoch: int, figure: Callable[[ReportedLevel], float | None]) -> list[Point]:
    """(users, mean of the levels at that count), ascending, without levels that are not part of a curve."""
    found: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        value = figure(row)
        if row.opened.epoch == epoch and row.kind not in _NO_CURVE and value is not None:
            found[row.users].append(value)
    return [(users, sum(found[users]) / len(found[users])) for users in sorted(found)]


def _placed(on: Panel, points: list[Point]) -> list[Point]:
    return [(on.x(x), on.y(y)) for x, y in points]


def _epoch(epoch: int, scene: _Scene) -> Iterator[str]:
    name = _series(epoch)
    if _failing(scene.rows):
        yield polyline(
            f"{name} thin", _placed(scene.goodput, _points_of(scene.rows, epoch, lambda row: row.figures.throughput_rps))
        )
    yield polyline(name, _placed(scene.goodput, _points_of(scene.rows, epoch, lambda row: row.figures.goodput_rps)))
    yield polyline(f"{name} thin", _placed(scene.latency, _points_of(scene.rows, epoch, lambda row: row.figures.latency_ms.p95)))
    yield polyline(name, _placed(scene.latency, _points_of(scene.rows, epoch, scene.solid_ms)))


def _failing(rows: list[ReportedLevel]) -> bool:
    """Whether throughput differs from goodput and gets its own line."""
    return any((row.figures.throughput_rps or 0) > 1.01 * (row.figures.goodput_rps or 0) for row in rows)


def _label_place(row: ReportedLevel, scene: _Scene) -> Point:
    """The middle of the foot of a point's label: above its interval."""
    return scene.goodput.x(row.users), scene.goodput.y((row.figures.goodput_rps or 0.0) + (row.goodput_error_rps or 0.0)) - 8


def _labelled(scene: _Scene) -> set[int]:
    """Indices of the points with a label. Where labels would overlap, as at low load, the point with more users has one."""
    if len(scene.rows) > _LABELLED_MOST:
        return set()
    found: dict[int, tuple[float, float, float]] = {}
    by_users = sorted(enumerate(scene.rows), key=lambda each: -each[1].users)
    for index, row in by_users:
        if row.kind in _NO_CURVE:
            continue
        x, y = _label_place(row, scene)
        half = len(numbers.significant(row.figures.goodput_rps)) * _DIGIT_WIDTH / 2
        if all(abs(x - left) >= half + width or abs(y - top) >= _LABEL_HEIGHT for left, top, width in found.values()):
            found[index] = (x, y, half)
    return set(found)


def _point(index: int, row: ReportedLevel, scene: _Scene, *, is_labelled: bool) -> Iterator[str]:
    """One level: interval, dots, and the text that a pointer over it shows."""
    name, goodput_rps, error_rps = _series(row.opened.epoch), row.figures.goodput_rps or 0.0, row.goodput_error_rps
    x, y = scene.goodput.x(row.users), scene.goodput.y(goodput_rps)
    yield f'<g class="point" data-level="{row.opened.index}" data-bin="{"" if row.bin is None else row.bin}">'
    yield f"<title>{html(_tooltip(row))}</title>"
    if error_rps:
        high, low = scene.goodput.y(goodput_rps + error_rps), scene.goodput.y(max(0.0, goodput_rps - error_rps))
        yield line(name, (x, high), (x, low))
        yield from (line(name, (x - 5, end), (x + 5, end)) for end in (high, low))
    if row.kind in _SQUARES:
        yield rectangle(f"{name} hollow", x - 3, y - 3, 6, 6)
    elif row.kind in _TRIANGLES:
        yield triangle(f"{name} hollow", (x, y), 4)
    else:
        yield circle(f"{name} {'dot' if row.kind == 'step' else 'hollow'}", (x, y), 3.5)
    if is_labelled:
        yield text(*_label_place(row, scene), numbers.significant(goodput_rps), anchor="middle", kind="value")
    for ms, few in ((scene.solid_ms(row), False), (row.figures.latency_ms.p95, row.has_few("p95"))):
        if ms is not None:
            yield circle(f"{name} {'hollow' if few or row.kind != 'step' else 'dot'}", (x, scene.latency.y(ms)), 2.5)
    yield circle("hit", (x, y), 11)
    yield "</g>"


def _tooltip(row: ReportedLevel) -> str:
    latency = row.figures.latency_ms
    shown = ", ".join(
        f"{name} {quantities.latency(getattr(latency, name), numbers.significant)}" for name in ("p50", "p95", "p99")
    )
    rate = quantities.rate_with_error(row.figures.goodput_rps, row.goodput_error_rps)
    epoch = f"epoch {row.opened.epoch}, " if row.opened.epoch else ""
    failed = numbers.percent_in_full(row.figures.failure_ratio)
    return f"{epoch}{numbers.users_of_level(row.users)} users: {rate}, {shown}, {failed} failed"


def _linear(scene: _Scene) -> Iterator[str]:
    """The line of linear scaling: the lowest level's goodput in proportion to users."""
    least = min(scene.rows, key=lambda row: row.users)
    slope = (least.figures.goodput_rps or 0) / least.users
    if slope > 0 and len({row.users for row in scene.rows}) > 1:
        yield proportional(scene.goodput, slope)


def _epoch_legend(scene: _Scene) -> Iterator[str]:
    shown = epochs(scene.rows)
    for place, epoch in enumerate(shown if len(shown) > 1 else ()):
        yield circle(f"{_series(epoch)} dot", (_LEFT + 4 + 84 * place, scene.latency.bottom + 32), 4)
        yield text(_LEFT + 14 + 84 * place, scene.latency.bottom + 36, f"epoch {epoch}")


def _sign_lines(scene: _Scene, *, drawn: bool) -> list[str]:
    """Lines that explain the signs in use, if there are any. `drawn`: the detector's lines are drawn."""
    lowest = len({row.users for row in scene.rows}) > 1
    kinds = {row.kind for row in scene.rows}
    outside, changed = (" or ".join(words for kind, words in signs.items() if kind in kinds) for signs in (_SQUARES, _TRIANGLES))
    meanings = {
        "seconds of a ramp with about as many users": "ramp" in kinds,
        "few values": any(row.has_few("p95") and row.figures.latency_ms.p95 is not None for row in scene.rows),
    }
    hollow = " or ".join(meaning for meaning, is_used in meanings.items() if is_used)
    signs = {
        "solid: goodput, dashed: all requests": _failing(scene.rows),
        f"hollow: {hollow}": bool(hollow),
        f"squares: {outside}": bool(outside),
        f"triangles: {changed}": bool(changed),
        "dotted: linear scaling from the lowest level": lowest and not drawn,
        "dotted: linear scaling from low load": drawn,
    }
    return _joined([sign for sign, is_used in signs.items() if is_used])


def _joined(signs: list[str]) -> list[str]:
    """Signs side by side on as few lines as they need."""
    found: list[str] = []
    for sign in signs:
        if found and len(found[-1]) + len("; ") + len(sign) <= _LINE_CHARACTERS:
            found[-1] += f"; {sign}"
        else:
            found.append(sign)
    return found
