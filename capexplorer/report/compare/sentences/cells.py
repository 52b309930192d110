"""The texts of a comparison's table cells, and the note on noise below the table."""

from __future__ import annotations

import math

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
    "levels, and an allowance for the variation between equal runs. The verdict tests the capacity; service time (mean latency "
    "below the knee, 1/goodput beyond it), goodput, failures, mean latency and p95 over all user counts together; and single "
    "counts at which one of the two is at its limit, if other counts or the capacity show the difference too. What 'would be "
    "found' is the smallest change that it finds in nine of ten comparisons (docs/compare.md has its error rate). Where other "
    "processes may have slowed down the service, no difference is claimed. Repeat important measurements. "
    f"{wording.INTERVALS}"
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


def brief(share: float) -> str:
    """The same for a headline: `+7.4%`, `+97%`."""
    return percent(share) if abs(share) < 0.0995 else f"{_signed(f'{abs(share) * 100:.0f}', share)}%"


def interval(of: tuple[float, float] | None) -> str:
    """` [+86% to +109%]`; empty if it is not known."""
    return "" if of is None else f" [{brief(of[0])} to {brief(of[1])}]"


def overall(pair: Pair) -> str:
    """`Mean change over user counts in common: p95 +9.8% over 12 (noise 4.1%, found from 6.2% on).`; may be empty. Without
    changes of which not even a doubling would be found.
    """
    sentence = [
        f"{title(one)} {percent(one.ratio)} over {one.levels}{_noise_and_significance(one)}"
        for one in pair.overall
        if not one.says_nothing
    ]
    return f"Mean change over user counts in common: {'; '.join(sentence)}." if sentence else ""


def overall_words(one: OverallChange) -> str:
    """`service time +9.8% [+7.1% to +13%] over 12 user counts (latency at 8 below the knee, 1/goodput at 4 beyond it)`,
    `2.9% of requests fail instead of 0% over 6 user counts`.
    """
    over = f"over {one.levels} user counts"
    if one.means is not None:
        before, after = (f"{100 * share:.2g}%" for share in one.means)
        return f"{after} of requests fail instead of {before} {over}"
    if one.beyond == one.levels:
        over += " at or beyond the knee"
    elif one.beyond:
        over += f" (latency at {one.levels - one.beyond} below the knee, 1/goodput at {one.beyond} beyond it)"
    return f"{title(one)} {brief(one.ratio)}{interval(one.interval)} {over}"


def title(one: OverallChange | Difference) -> str:
    """Its name in a sentence: `mean latency`."""
    if isinstance(one, OverallChange) and one.means is not None:
        return "share that succeeds"
    return "mean latency" if one.figure == "mean" else FIGURES[one.figure].title


def _noise_and_significance(one: OverallChange) -> str:
    where = " beyond the knee" if one.beyond == one.levels else ""
    noise = f"noise {percent(one.noise).lstrip('+')}"
    smallest = "" if one.detectable is None else f", found from {percent(one.detectable).lstrip('+')} on"
    return f"{where} ({noise}{smallest}){', beyond noise' if one.claimed else ''}"


def detectable(pair: Pair) -> str:
    """`a change of 6.2% would be found`: the most precise of the tests of the whole curve; empty without any. That of the service
    time is not named: a service that is so much slower has it at all loads.
    """
    asked = [one for one in pair.overall if one.detectable is not None and one.means is None and one.figure != "p50"]
    best = min(asked, key=lambda one: one.detectable or math.inf, default=None)
    if best is None or best.says_nothing:
        return "not even a doubling would be found: the levels are too few, or differ too much" if asked else ""
    of = "" if best.figure == SERVICE_TIME.name else f" in {title(best)}"
    return f"a change of {brief(best.detectable or 0.0).lstrip('+')}{of} would be found"


def isolated(pair: Pair) -> str:
    """`p95 stands out at 60 users alone (+300%): repeat that level`; empty if no single user count stands out."""
    found = [(level.users, one) for level in pair.levels for one in level.differences if one.isolated]
    if not found:
        return ""
    users, one = max(found, key=lambda each: abs(each[1].ratio or 0.0))
    return f"{title(one)} stands out at {users} users alone ({ratio(one)}): repeat that level"


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
