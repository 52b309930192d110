"""The clause of the verdict on goodput: which side has more, at how many user counts, or that no difference is significant."""

from __future__ import annotations

from collections.abc import Sequence

from ..comparison import Pair
from ..difference import Difference
from .cells import detectable, isolated, percent, strongest


def goodput(pair: Pair) -> str:
    """The clause, from levels that other processes did not disturb: differences at single counts, else over all counts, else
    none.
    """
    before, after = pair.before.letter, pair.after.letter
    compared = [(level.users, level["goodput"]) for level in pair.levels if not level.disturbed]
    if not compared:
        return f"other processes used the machine's CPU at every common user count, so {after} and {before} cannot be compared"
    more = [(users, one) for users, one in compared if one.claimed and (one.change or 0) > 0]
    less = [(users, one) for users, one in compared if one.claimed and (one.change or 0) < 0]
    if more and less:
        return (
            f"the curves cross: {after} finishes more than {before} ({strongest(more)}) and less ({strongest(less)}), "
            "both beyond noise"
        )
    if more or less:
        which = f"{after} finishes {'more' if more else 'less'} than {before} beyond noise"
        return f"{which}{_counted(more or less, len(compared))}"
    return _over_all(pair) or _no_difference(pair, compared)


def _counted(claimed: Sequence[tuple[int, Difference]], compared: int) -> str:
    """` at 3 of 5 user counts in common (most +12% at 40 users)`; with one count in common, only the figure."""
    where = f" at {len(claimed)} of {compared} user counts in common" if compared > 1 else ""
    return f"{where} ({'most ' if len(claimed) > 1 else ''}{strongest(claimed)})"


def _over_all(pair: Pair) -> str:
    """The difference over all counts together; empty if it is not significant."""
    together = next((one for one in pair.overall if one.claimed and one.figure == "goodput"), None)
    if together is None:
        return ""
    which = f"{pair.after.letter} finishes {'more' if together.log_ratio > 0 else 'less'} than {pair.before.letter} beyond noise"
    where = " at or beyond the knee" if together.beyond_knee else ""
    return f"{which} ({percent(together.ratio)} over {together.levels} user counts{where})"


def _no_difference(pair: Pair, compared: Sequence[tuple[int, Difference]]) -> str:
    letters = f"{pair.after.letter} and {pair.before.letter}"
    known = sum(one.p is not None for _, one in compared)
    where = f"{len(compared)} user counts in common" if len(compared) > 1 else f"{compared[0][0]} users"
    details = detectable(pair, "goodput") + isolated(pair, ("goodput",))
    if known == len(compared):
        return f"goodput of {letters} does not differ beyond noise at {where}{details}"
    if known:
        return f"goodput of {letters} does not differ beyond noise at {known} of {where}, and the rest is unknown{details}"
    return f"whether goodput of {letters} differs is unknown at {where}: standard errors are missing"
