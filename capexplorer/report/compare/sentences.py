"""All sentences and figures of a comparison as plain text; whoever shows them escapes them. No claim without its noise."""

from __future__ import annotations

from collections.abc import Sequence

from ... import wording as verdicts
from ...model.events import Mark
from ...model.intervals import Z95
from ...wording import numbers
from .. import figures
from .comparison import Comparison, Curve, MatchedLevel, Pair
from .difference import Difference
from .environment import Differing
from .figures import FIGURES, HEADLINE_LATENCIES

MISSING = "–"

NOISE = (
    "A difference counts when it exceeds its noise and 2%. Noise is for each row by itself: where nothing differs, about 1 row "
    "in 20 counts. It is what the figure varies by within both sessions (overlapping batches of seconds; target CPU: scatter "
    "from level to level), and an allowance for what equal runs differ by. The verdict is about all figures at once: it claims "
    "only what is sure among them (docs/compare.md has how often that is wrong). Where other processes held a full machine "
    "nothing is claimed. "
    f"Repeat what matters. {verdicts.INTERVALS}"
)

BEYOND = {True: "better, beyond noise", False: "worse, beyond noise", None: "differs beyond noise"}

JUDGEMENTS = {
    "within": "within noise",
    "unknown": "noise unknown",
    "client": "the client's",
    "partly_client": "partly client",
    "neighbours": "others' CPU",
    "not_measured": "not measured",
}

_CLIENTS = ("client", "partly_client")

_NOT_SURE = "not sure among all figures"
"""Of a difference that counts by itself, in a verdict on many figures."""
_NAMED = 6
"""Names of differing conditions that a sentence holds."""


# -- figures


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


def _signed(said: str, number: float) -> str:
    return said if not said.strip("0.,") else f"{'-' if number < 0 else '+'}{said}"


def _four_digits(number: float) -> str:
    size = abs(number)
    decimals = 0 if size >= 999.95 else 1 if size >= 9.995 else 2 if size >= 0.0995 or not size else 3
    return f"{number:,.{decimals}f}"


def overall(pair: Pair) -> str:
    """`Over the user counts in common: p95 +9.8% (noise 4.1%).`; empty where there are too few."""
    said = [
        f"{FIGURES[one.figure].title} {percent(one.ratio)} over {one.levels} (noise {percent(one.noise).lstrip('+')})"
        + (", beyond noise" if one.sure else "")
        for one in pair.overall
    ]
    return f"Mean change over user counts in common: {'; '.join(said)}." if said else ""


# -- sentences


def curve(one: Curve) -> str:
    """`A  20260101-120000-mixed-0a1b  after the fix (epoch 1)  threads=8`, without layout."""
    parts = [one.name]
    if one.title:
        parts.append(one.title)
    if one.label:
        parts.append(f"[{one.label}]")
    if not one.complete:
        parts.append("(cut short)")
    return "  ".join(parts)


def began(one: Curve) -> str:
    """`2026-01-01 12:00:00 UTC`."""
    return verdicts.wall_time(one.started_at) or MISSING


def floors(one: Curve) -> str:
    """What the client costs by itself."""
    if not one.floors:
        return "not measured"
    return ", ".join(f"{name} {each.p50_ms:.3g} ms (p99 {each.p99_ms:.3g})" for name, each in sorted(one.floors.items()))


def knee(one: Curve) -> str:
    """`60 [55–65] users, 118.4 ± 4.7/s`, or what was found instead."""
    if not one.knee:
        return "none marked" if one.verdict is None else verdicts.knee(one.verdict)
    interval = "" if one.knee_users is None else f" {numbers.interval(*one.knee_users)}"
    capacity = one.knee["capacity"]
    error = None if capacity.se is None else Z95 * capacity.se
    rate = figures.number(capacity.value) if error is None else figures.beside(capacity.value, error)
    return f"{numbers.users(one.knee['knee'].value)}{interval} users{'' if capacity.value is None else f', {rate}/s'}"


def marked(one: Curve) -> str:
    """What was marked: `the service's CPU is saturated (GIL) at 60 users; connections are reset at 80 users, 412 ×`."""
    return "; ".join(map(_marked, one.marks)) or MISSING


def _marked(mark: Mark) -> str:
    users = "" if mark.users is None else f" at {mark.users:,.0f} users"
    counted = verdicts.counted(mark.finding)
    return f"{verdicts.title(mark)}{users}{f', {counted}' if counted else ''}"


def warnings(comparison: Comparison) -> list[str]:
    """What must be read before any figure; empty when nothing spoils the comparison."""
    said = []
    if comparison.conditions:
        said.append(f"Conditions differ ({names(comparison.conditions)}): differences may be theirs, not the target's.")
    said += [f"{one.letter}: {one.judged.said}" for one in comparison.curves if one.judged.severity == "critical"]
    for pair in comparison.pairs:
        if pair.clients is not None:
            said.append(_clients(pair))
        held = [str(level.users) for level in pair.levels if level.held_by_others]
        if held:
            said.append(
                f"Other processes held the machine at {', '.join(held)} users of {pair.before.letter} or {pair.after.letter}: "
                "no difference is claimed there."
            )
        if not pair.levels:
            said.append(f"{pair.before.letter} and {pair.after.letter} have no settled user count in common.")
    said += [
        f"{one.letter}: {_damage(one.damaged)} of its log, which its figures lack." for one in comparison.curves if one.damaged
    ]
    said += [f"{one.letter} was cut short: its last level may be missing." for one in comparison.curves if not one.complete]
    return said


def names(rows: Sequence[Differing]) -> str:
    """The first few, and how many more."""
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more


def _damage(lines: int) -> str:
    return f"{lines} damaged or missing line{'s' * (lines > 1)}"


def _clients(pair: Pair) -> str:
    before, after = pair.clients or ("", "")
    letters = f"{pair.before.letter} used {before}, {pair.after.letter} {after}"
    if len(pair.before.floors) == 1 and len(pair.after.floors) == 1:
        (ours,), (theirs,) = pair.before.floors.values(), pair.after.floors.values()
        size = theirs.p50_ms - ours.p50_ms
        return (
            f"{letters}: by itself {after} costs {abs(size):.3g} ms {'less' if size < 0 else 'more'} at the median, "
            "and that share of latency is the client's, not the target's."
        )
    return f"{letters}, and their floors were not measured: no difference in latency can be told to be the target's."


def verdict(comparison: Comparison) -> str:
    """One sentence; the first curve is what the others are held against."""
    said = found(comparison)
    if comparison.conditions:
        said += f"; but conditions differ ({names(comparison.conditions)}), so this may not be the target's doing"
    return f"{said}."


def found(comparison: Comparison) -> str:
    """The verdict for who has read the warnings; without its full stop."""
    said = "; ".join(_pair(pair) for pair in comparison.pairs)
    return said[:1].upper() + said[1:]


def _pair(pair: Pair) -> str:
    if not pair.levels:
        return f"{pair.after.letter} and {pair.before.letter} have no settled user count in common, so no figure can be compared"
    return ", ".join(part for part in (_goodput(pair), _latency(pair), _knees(pair)) if part)


def _goodput(pair: Pair) -> str:
    before, after = pair.before.letter, pair.after.letter
    found = [(level.users, level["goodput"]) for level in pair.levels if not level.held_by_others]
    if not found:
        return f"other processes held the machine at every user count in common, so {after} and {before} cannot be compared"
    up = [(users, one) for users, one in found if one.sure and (one.change or 0) > 0]
    down = [(users, one) for users, one in found if one.sure and (one.change or 0) < 0]
    if up and down:
        return (
            f"the curves cross: {after} finishes more than {before} ({_strongest(up)}) and less ({_strongest(down)}), "
            "both beyond noise"
        )
    if up or down:
        told = f"{after} finishes {'more' if up else 'less'} than {before} beyond noise"
        counted = f" at {len(up or down)} of {len(found)} user counts in common" if len(found) > 1 else ""
        return f"{told}{counted} ({'most ' if len(up or down) > 1 else ''}{_strongest(up or down)})"
    together = next((one for one in pair.overall if one.sure and one.figure == "goodput"), None)
    if together is not None:
        more = "more" if together.log_ratio > 0 else "less"
        saturated = f"{percent(together.ratio)} over {together.levels} user counts that saturate both"
        return f"{after} finishes {more} than {before} beyond noise ({saturated})"
    known = [one for _, one in found if one.p is not None]
    where = f"{len(found)} user counts in common" if len(found) > 1 else f"{found[0][0]} users"
    if len(known) == len(found):
        return f"goodput of {after} and {before} does not differ beyond noise at {where}"
    if known:
        return f"goodput of {after} and {before} does not differ beyond noise at {len(known)} of {where}, and the rest is unknown"
    return f"whether goodput of {after} and {before} differs is unknown at {where}: standard errors are missing"


def _strongest(found: Sequence[tuple[int, Difference]]) -> str:
    users, one = max(found, key=lambda each: abs(each[1].ratio or 0.0))
    return f"{ratio(one)} at {users} users"


def _latency(pair: Pair) -> str:
    """A difference that the client makes is named as the client's."""
    undisturbed = [level for level in pair.levels if not level.held_by_others]
    if not undisturbed:
        return ""
    found = [(level.users, one) for level in undisturbed if (one := _judged_latency(level)) is not None]
    judgements = {one.judgement for _, one in found}
    counting = [(users, one) for users, one in found if one.sure]
    if pair.clients and judgements & set(_CLIENTS) and not counting:
        before, after = pair.clients
        classes = f"({after} instead of {before})"
        if "partly_client" in judgements:
            return f"and the difference in latency is in part at least the client's {classes}: no verdict on the target"
        return f"and the difference in latency is the client's {classes}, not the target's"
    overall = next((one for one in pair.overall if one.sure and one.figure != "goodput"), None)
    if overall is not None and all((one.change or 0.0) * overall.log_ratio > 0 for _, one in counting):
        most = f", {_strongest(counting)}" if counting else ""
        return (
            f"and {_moved(overall.figure, overall.log_ratio)} ({percent(overall.ratio)} over {overall.levels} user counts{most})"
        )
    if not counting:
        return "and latency does not differ beyond noise" if found else "and noise of latency is unknown"
    users, one = max(counting, key=lambda each: abs(each[1].ratio or 0.0))
    also = " and at some counts the other way" if len({(each.change or 0) > 0 for _, each in counting}) > 1 else ""
    return f"and {_moved(one.figure, one.change or 0.0)} ({ratio(one)} at {users} users){also}"


def _moved(figure: str, change: float) -> str:
    return f"its {'mean latency' if figure == 'mean' else figure} is {'lower' if change < 0 else 'higher'}"


def _judged_latency(level: MatchedLevel) -> Difference | None:
    """The first latency that surely differs; else the first that the client may have made, or whose noise is known."""
    known = [one for name in HEADLINE_LATENCIES if (one := level[name]).judgement not in ("unknown", "not_measured")]
    differing = [one for one in known if one.sure] or [one for one in known if one.judgement in _CLIENTS]
    return next(iter(differing or known), None)


def _knees(pair: Pair) -> str:
    """The knees wherever both have one; the capacities where they surely differ."""
    moved, capacity = pair.knee
    if moved.judgement == "not_measured":
        has = [one.letter for one in (pair.before, pair.after) if one.knee]
        return f"and only {has[0]} has a knee{_instead(pair)}" if has else ""
    said = f"and the knee is at {value('knee', moved.after.value)} instead of {value('knee', moved.before.value)} users "
    said += f"({ratio(moved)}, {judgement(moved) if moved.sure or not moved.counts else _NOT_SURE})"
    if capacity.sure:
        rates = f"{value('capacity', capacity.after.value)} instead of {value('capacity', capacity.before.value)}/s"
        said += f", and the capacity is {rates} ({ratio(capacity)}, {judgement(capacity)})"
    return said


def _instead(pair: Pair) -> str:
    """` (B: no knee up to 60 users)`: where the detector looked and found none."""
    without = next((one for one in (pair.before, pair.after) if not one.knee and one.verdict is not None), None)
    return "" if without is None or without.verdict is None else f" ({without.letter}: {verdicts.knee(without.verdict)})"
