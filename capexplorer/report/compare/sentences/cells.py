"""Figures of a comparison as they stand in the cells of a table, and the note on noise below it."""

from __future__ import annotations

from collections.abc import Sequence

from .... import wording
from ..comparison import Pair
from ..difference import Difference
from ..figures import FIGURES

MISSING = "–"

NOISE = (
    "A difference is significant if it exceeds its noise and 2%. Noise is computed for each row separately: if nothing differs, "
    "about 1 row in 20 is significant. It is the variation within both sessions (overlapping batches of seconds; target CPU: the "
    "scatter between levels) and an allowance for the variation between equal runs. The verdict considers all figures together "
    "and claims only what is significant among all of them (docs/compare.md has its error rate). Where other processes used a "
    "saturated machine, no difference is claimed. "
    f"Repeat important measurements. {wording.INTERVALS}"
)

BEYOND = {True: "better, beyond noise", False: "worse, beyond noise", None: "differs beyond noise"}

JUDGEMENTS = {
    "within": "within noise",
    "unknown": "noise unknown",
    "client": "client overhead",
    "partly_client": "partly client",
    "neighbours": "others' CPU",
    "not_measured": "not measured",
}


def value(figure: str, number: float | None) -> str:
    """Without its unit: 117.2, 0.42 (of a ratio, per cent)."""
    if number is None:
        return MISSING
    scaled = number * 100 if FIGURES[figure].unit == "%" else number
    return _four_digits(scaled)


def change(one: Difference) -> str:
    """Signed, in the figure's unit; ratios in percentage points."""
    if one.change is None:
        return MISSING
    scaled = one.change * 100 if FIGURES[one.figure].unit == "%" else one.change
    return _signed(_four_digits(abs(scaled)), scaled)


def ratio(one: Difference) -> str:
    """Signed per cent of the first; a dash where that is zero or not measured."""
    return MISSING if one.ratio is None else percent(one.ratio)


def noise(one: Difference) -> str:
    """What the difference must exceed, in the figure's unit: `2.1`, or `unknown`."""
    if one.noise is None:
        return MISSING if one.change is None else "unknown"
    return _four_digits(one.noise * (100 if FIGURES[one.figure].unit == "%" else 1))


def judgement(one: Difference) -> str:
    """`worse, beyond noise`, `noise unknown`."""
    return BEYOND[one.better] if one.counts else JUDGEMENTS[one.judgement]


def percent(share: float) -> str:
    """`+7.4%`, `-18%`, `0%`."""
    size = abs(share) * 100
    said = f"{size:.0f}" if size >= 99.95 else f"{size:.1f}"
    return _signed(said, share) + "%"


def overall(pair: Pair) -> str:
    """`Over the user counts in common: p95 +9.8% (noise 4.1%).`; empty where there are too few."""
    said = [
        f"{FIGURES[one.figure].title} {percent(one.ratio)} over {one.levels} (noise {percent(one.noise).lstrip('+')})"
        + (", beyond noise" if one.sure else "")
        for one in pair.overall
    ]
    return f"Mean change over user counts in common: {'; '.join(said)}." if said else ""


def strongest(differences: Sequence[tuple[int, Difference]]) -> str:
    """`+12% at 40 users`: the greatest of differences at several user counts."""
    users, one = max(differences, key=lambda each: abs(each[1].ratio or 0.0))
    return f"{ratio(one)} at {users} users"


def _signed(said: str, number: float) -> str:
    return said if not said.strip("0.,") else f"{'-' if number < 0 else '+'}{said}"


def _four_digits(number: float) -> str:
    size = abs(number)
    decimals = 0 if size >= 999.95 else 1 if size >= 9.995 else 2 if size >= 0.0995 or not size else 3
    return f"{number:,.{decimals}f}"
