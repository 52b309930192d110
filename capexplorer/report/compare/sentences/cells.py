"""The texts of a comparison's table cells, and the note on noise below the table."""

from __future__ import annotations

from collections.abc import Sequence

from .... import wording
from ....wording import units
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
    f"may have slowed down the service, no difference is claimed. Repeat important measurements. {wording.INTERVALS}"
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


def unit(one: Difference) -> str:
    """The unit of a row, as it stands behind a value: `/s`, ` ms`, or in the chosen units ` s`."""
    figure, latency = FIGURES[one.figure], _latency_unit(one)
    return figure.unit if figure.unit in ("/s", "%") else f" {figure.unit if latency is None else latency.name}"


def heading(one: Difference) -> str:
    """The figure and its unit: `goodput/s`, `p95 ms`, `failed %`."""
    return f"{FIGURES[one.figure].title}{' ' * (FIGURES[one.figure].unit == '%')}{unit(one)}"


def before(one: Difference) -> str:
    """The first value in the unit of its row: 117.2; a ratio in per cent: 0.42."""
    return _in_unit_of(one, one.before.value)


def after(one: Difference) -> str:
    """The second value in the unit of its row."""
    return _in_unit_of(one, one.after.value)


def change(one: Difference) -> str:
    """The signed change in the figure's unit; that of ratios in percentage points."""
    if one.change is None:
        return MISSING
    return _signed(_in_unit_of(one, abs(one.change)), one.change)


def ratio(one: Difference) -> str:
    """The signed change in per cent of the first value; a dash if that is zero or not measured."""
    return MISSING if one.ratio is None else percent(one.ratio)


def noise(one: Difference) -> str:
    """The noise that the difference must exceed, in the figure's unit: `2.1`, or `unknown`."""
    if one.noise is None:
        return MISSING if one.change is None else "unknown"
    return _in_unit_of(one, one.noise)


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
    sentence = [
        f"{FIGURES[one.figure].title} {percent(one.ratio)} over {one.levels}{_noise_and_significance(one)}"
        for one in pair.overall
    ]
    return f"Mean change over user counts in common: {'; '.join(sentence)}." if sentence else ""


def _noise_and_significance(one: OverallChange) -> str:
    where = " beyond the knee" if one.beyond_knee else ""
    noise = f"noise {percent(one.noise).lstrip('+')}"
    smallest = "" if one.detectable is None else f", found from {percent(one.detectable).lstrip('+')} on"
    return f"{where} ({noise}{smallest}){', beyond noise' if one.claimed else ''}"


def detectable(pair: Pair, figure: str) -> str:
    """` (a change of 6.2% would be found)`; empty if the whole curve was not tested."""
    asked = next((one.detectable for one in pair.overall if one.figure == figure), None)
    of = " in service time" if figure == SERVICE_TIME.name else ""
    return "" if asked is None else f" (a change of {percent(asked).lstrip('+')}{of} would be found)"


def isolated(pair: Pair, figures: Sequence[str]) -> str:
    """`, but p95 stands out at 60 users alone (+300%): repeat that level`; empty if no single user count stands out."""
    found = [(level.users, one) for level in pair.levels for one in level.differences if one.isolated and one.figure in figures]
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


def _latency_unit(one: Difference) -> units.LatencyUnit | None:
    """The unit of a row of latencies, by the greater of its two values; None for other figures."""
    if FIGURES[one.figure].unit != "ms":
        return None
    return units.latency_unit_of(max(one.before.value or 0.0, one.after.value or 0.0))


def _in_unit_of(one: Difference, number: float | None) -> str:
    if number is None:
        return MISSING
    unit = _latency_unit(one)
    if unit is not None:
        return _four_digits(number / unit.in_ms, unit.decimals)
    return _four_digits(number * 100 if FIGURES[one.figure].unit == "%" else number)


def _four_digits(number: float, decimals_most: int = 3) -> str:
    size = abs(number)
    needed = 0 if size >= 999.95 else 1 if size >= 9.995 else 2 if size >= 0.0995 or not size else 3
    return f"{number:,.{decimals_most if 0 < size < 0.9995 and decimals_most > 3 else needed}f}"
