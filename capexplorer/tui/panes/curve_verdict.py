"""The parts that a verdict adds to the capacity curve: lines, the knee with its interval, other findings, and missing levels.

Pure. The verdict is that of the detector, and its sentences come from `wording`; nothing is computed from levels here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ... import wording
from ...model.events import Verdict
from ...model.verdicts import CurveFit, KneeVerdict, UslFit
from ...wording import quantities
from ..display_options import DisplayOptions, Palette
from ..render.axis import Axis
from ..render.chart import Band, Boundary, Series, Tag
from ..render.legend import DASHED, DOTTED, Legend
from ..render.raster import Pattern

USL_POINTS = 60
"""Number of segments of the USL curve."""

ADVICE_KEY, KNEE_KEY, LATENCY_KEY, PEAK_KEY = "→", "┃", "◆", "▵"

UNRELIABLE_WORDS = {"few_levels": "too few levels", "no_bend": "no saturation yet", "poor_fit": "fits poorly"}
"""The words for each reason why a USL fit is not reliable, and is drawn in grey."""


@dataclass(frozen=True, slots=True)
class VerdictParts:
    """The parts of the chart that the verdict adds."""

    legend: tuple[Legend, ...] = ()
    notes: tuple[tuple[Legend, ...], ...] = ()
    lines: tuple[Series, ...] = ()
    bands: tuple[Band, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    tags: tuple[Tag, ...] = ()


def parts_of(verdict: Verdict, users: Axis, options: DisplayOptions) -> VerdictParts:
    """All parts of a verdict, for this axis of users."""
    palette, knee = options.palette, verdict.capacity.knee
    beyond = knee is not None and knee.kind == "at_or_below"
    curve = None if beyond else verdict.capacity.curve  # if all levels are beyond the knee, no line shows low load
    notes = (_advice(verdict, palette), _line_keys(verdict, curve, palette), *_usl_and_objectives(verdict, curve, palette))
    return VerdictParts(
        legend=_legend(knee, palette),
        notes=tuple(line for line in notes if line),
        lines=_lines(curve, users, palette) if curve is not None else (),
        bands=tuple(_bands(knee, palette)) if knee is not None else (),
        boundaries=_boundaries(verdict, palette),
        tags=tuple(sorted(_tags(verdict, palette), key=lambda tag: tag.x)),
    )


def _legend(knee: KneeVerdict | None, palette: Palette) -> tuple[Legend, ...]:
    if knee is None:
        return ()
    if knee.kind == "no_knee":
        return (Legend("", wording.knee(knee), "", palette.muted),)
    return (Legend(KNEE_KEY, wording.knee(knee), "", color_of(knee, palette), short=wording.short_knee(knee), strong=True),)


def color_of(knee: KneeVerdict, palette: Palette) -> str:
    """The colour of a knee; a bend has that of a warning."""
    return palette.warning if knee.kind == "bend" else palette.error


# -- on the plot


def _lines(curve: CurveFit, users: Axis, palette: Palette) -> tuple[Series, ...]:
    """The lines of low load, capacity and USL fit. A cell shows the colour of the last line in it: the USL fit, unless it is
    grey.
    """
    usl_line = [_usl_line(curve.usl, users, palette)] if curve.usl is not None else []
    top = curve.low_load_rps_per_user * users.high
    lines = [Series((0.0, users.high), (0.0, top), palette.muted, Pattern.DOTTED)]
    if curve.capacity_rps is not None:
        lines.append(Series((0.0, users.high), (curve.capacity_rps,) * 2, palette.error, Pattern.DASHED))
    return (*usl_line, *lines) if curve.usl is not None and curve.usl.unreliable_why is not None else (*lines, *usl_line)


def _usl_line(usl: UslFit, users: Axis, palette: Palette) -> Series:
    counts = [users.high * step / USL_POINTS for step in range(USL_POINTS + 1)]
    rates = [usl.lambda_rps * n / max(1 + usl.sigma * (n - 1) + usl.kappa * n * (n - 1), 1e-9) for n in counts]
    return Series(counts, rates, palette.primary if usl.unreliable_why is None else palette.faint, Pattern.DOTTED)


def _bands(knee: KneeVerdict, palette: Palette) -> list[Band]:
    """The band of the knee's 90% interval; for a knee at or below the lowest level, of all users below it."""
    if knee.kind == "knee" and knee.users_low is not None and knee.users_high is not None:
        return [Band(knee.users_low, knee.users_high, palette.error)]
    if knee.kind == "at_or_below" and knee.users is not None:
        return [Band(0.0, knee.users, palette.error)]
    return []


def _boundaries(verdict: Verdict, palette: Palette) -> tuple[Boundary, ...]:
    knee, latency_knee = verdict.capacity.knee, verdict.capacity.latency_knee
    found = []
    if knee is not None and knee.kind != "no_knee" and knee.users is not None:
        word = "knee at or below" if knee.kind == "at_or_below" else knee.kind
        found.append(Boundary(knee.users, word, color_of(knee, palette), solid=knee.kind == "knee"))
    if latency_knee is not None and latency_knee.users is not None:
        found.append(Boundary(latency_knee.users, "", palette.accent))
    return tuple(found)


def _tags(verdict: Verdict, palette: Palette) -> list[Tag]:
    """The tags on the axis line: the latency knee, and the peak if it is apart from the knee."""
    knee, latency_knee = verdict.capacity.knee, verdict.capacity.latency_knee
    found = []
    if latency_knee is not None and latency_knee.users is not None:
        found.append(Tag(latency_knee.users, LATENCY_KEY, palette.accent, "latency climbs"))
    if knee is not None and knee.peak is not None:
        found.append(Tag(knee.peak.users, PEAK_KEY, palette.text, "peak"))
    return found


# -- in words


def _advice(verdict: Verdict, palette: Palette) -> tuple[Legend, ...]:
    """Which further levels would make the verdict more certain, the most useful first, with the reasons if there is space."""
    wanted = verdict.capacity.missing
    return tuple(
        Legend(ADVICE_KEY if not index else "", wording.missing(each), "", palette.text, short=wording.short_missing(each))
        for index, each in enumerate(wanted)
    )


def _line_keys(verdict: Verdict, curve: CurveFit | None, palette: Palette) -> tuple[Legend, ...]:
    latency_knee = verdict.capacity.latency_knee
    keys = []
    if curve is not None:
        words = f"low load {quantities.rate_figure(curve.low_load_rps_per_user)} per user"
        keys.append(Legend(DOTTED, words, "", palette.muted, short="low load"))
    if curve is not None and curve.capacity_rps is not None:
        keys.append(Legend(DASHED, f"capacity {quantities.rate_figure(curve.capacity_rps)}", "", palette.error, short="capacity"))
    if latency_knee is not None and latency_knee.users is not None:
        keys.append(Legend(LATENCY_KEY, f"latency climbs from {latency_knee.users:.0f}", "", palette.accent))
    peak = verdict.capacity.knee.peak if verdict.capacity.knee is not None else None
    if peak is not None:
        words = f"peak {quantities.rate_figure(peak.goodput_rps)} at {peak.users:.0f}, then it {wording.FALLS[peak.shape]}"
        keys.append(Legend(PEAK_KEY, words, "", palette.text))
    return tuple(keys)


def _usl_and_objectives(verdict: Verdict, curve: CurveFit | None, palette: Palette) -> list[tuple[Legend, ...]]:
    """The USL fit's figures, then the objectives."""
    lines: list[tuple[Legend, ...]] = []
    usl = curve.usl if curve is not None else None
    if usl is not None:
        lines.append((_usl_legend(usl, palette),))
    if verdict.slo:
        lines.append(tuple(Legend("", wording.objective(each), "", palette.muted) for each in verdict.slo))
    return lines


def _usl_legend(usl: UslFit, palette: Palette) -> Legend:
    peak = "no peak" if usl.peak_users is None else f"peak {usl.peak_users:.0f} users"
    why = "" if usl.unreliable_why is None else f" (grey: {UNRELIABLE_WORDS[usl.unreliable_why]})"
    words = f"λ {quantities.rate(usl.lambda_rps)}  σ {usl.sigma:.3g}  κ {usl.kappa:.2g}  {peak}"
    color = palette.primary if usl.unreliable_why is None else palette.faint
    return Legend(DOTTED, f"USL fit  {words}{why}", "", color, short=f"USL {words}")
