"""The texts of a comparison's table cells, and the note on noise below the table."""

from __future__ import annotations

from collections.abc import Sequence

from .... import wording
from ..across_levels import OverallChange
from ..comparison import Pair
from ..difference import Difference
from ..figures import FIGURES, SERVICE_TIME

MISSING = "–"

NOISE = (
    "A difference is significant if it exceeds its noise and 2%. Noise is computed for each row separately: if nothing differs, "
    "about 1 row in 20 is significant. It is the variation within both sessions (overlapping batches of seconds) and between "
    "levels, and an allowance for the variation between equal runs. The verdict tests service time (mean latency below the knee, "
    "1/goodput beyond it), goodput, mean latency and p95 over all user counts together, and claims a difference at single ones "
    "only if their neighbours show it too; what 'would be found' "
    "is the smallest change that it finds in nine of ten comparisons (docs/compare.md has its error rate). Where other processes "
    f"used a saturated machine, no difference is claimed. Repeat important measurements. {wording.INTERVALS}"
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
    """A value without its unit: 117.2; a ratio in per cent: 0.42."""
    if number is None:
        return MISSING
    scaled = number * 100 if FIGURES[figure].unit == "%" else number
    return _four_digits(scaled)


def change(one: Difference) -> str:
    """The signed change in the figure's unit; that of ratios in percentage points."""
    if one.change is None:
        return MISSING
    scaled = one.change * 100 if FIGURES[one.figure].unit == "%" else one.change
    return _signed(_four_digits(abs(scaled)), scaled)


def ratio(one: Difference) -> str:
    """The signed change in per cent of the first value; a dash if that is zero or not measured."""
    return MISSING if one.ratio is None else percent(one.ratio)


def noise(one: Difference) -> str:
    """The noise that the difference must exceed, in the figure's unit: `2.1`, or `unknown`."""
    if one.noise is None:
        return MISSING if one.change is None else "unknown"
    return _four_digits(one.noise * (100 if FIGURES[one.figure].unit == "%" else 1))


def judgement(one: Difference) -> str:
    """`worse, beyond noise`, `noise unknown`."""
    return BEYOND[one.better] if one.counts else JUDGEMENTS[one.judgement]


def percent(share: float) -> str:
    """`+7.4%`, `-18%`, `0%`."""
    size = abs(share) * 100
    sentence = f"{size:.0f}" if size >= 99.95 else f"{size:.1f}"
    return _signed(sentence, share) + "%"


def overall(pair: Pair) -> str:
    """`Mean change over user counts in common: p95 +9.8% over 12 (noise 4.1%, found from 6.2% on).`; may be empty."""
    sentence = [f"{FIGURES[one.figure].title} {percent(one.ratio)} over {one.levels}{_how_sure(one)}" for one in pair.overall]
    return f"Mean change over user counts in common: {'; '.join(sentence)}." if sentence else ""


def _how_sure(one: OverallChange) -> str:
    where = " beyond the knee" if one.beyond_knee else ""
    noise = f"noise {percent(one.noise).lstrip('+')}"
    smallest = "" if one.detectable is None else f", found from {percent(one.detectable).lstrip('+')} on"
    return f"{where} ({noise}{smallest}){', beyond noise' if one.sure else ''}"


def detectable(pair: Pair, figure: str) -> str:
    """` (a change of 6.2% would be found)`; empty if the whole curve was not tested."""
    asked = next((one.detectable for one in pair.overall if one.figure == figure), None)
    of = " in service time" if figure == SERVICE_TIME.name else ""
    return "" if asked is None else f" (a change of {percent(asked).lstrip('+')}{of} would be found)"


def alone(pair: Pair, figures: Sequence[str]) -> str:
    """`, but p95 stands out at 60 users alone (+300%): repeat that level`; empty if no single user count stands out."""
    found = [(level.users, one) for level in pair.levels for one in level.differences if one.alone and one.figure in figures]
    if not found:
        return ""
    users, one = max(found, key=lambda each: abs(each[1].ratio or 0.0))
    return f", but {FIGURES[one.figure].title} stands out at {users} users alone ({ratio(one)}): repeat that level"


def strongest(differences: Sequence[tuple[int, Difference]]) -> str:
    """`+12% at 40 users`: the greatest of differences at several user counts."""
    users, one = max(differences, key=lambda each: abs(each[1].ratio or 0.0))
    return f"{ratio(one)} at {users} users"


def _signed(sentence: str, number: float) -> str:
    return sentence if not sentence.strip("0.,") else f"{'-' if number < 0 else '+'}{sentence}"


def _four_digits(number: float) -> str:
    size = abs(number)
    decimals = 0 if size >= 999.95 else 1 if size >= 9.995 else 2 if size >= 0.0995 or not size else 3
    return f"{number:,.{decimals}f}"
