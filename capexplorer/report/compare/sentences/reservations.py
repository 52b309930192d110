"""Warnings to read before any figure: conditions that differ besides the target, and data that the sessions lack."""

from __future__ import annotations

from collections.abc import Sequence

from .... import wording
from ....wording.quantities import latency
from ..comparison import Comparison, Pair
from ..environment import Differing

NAMED = 6
"""Maximum number of differing conditions that a sentence names."""


_LEFT_OUT = "Levels of another state than the one that its verdict is about are not compared."


def warnings(comparison: Comparison) -> list[str]:
    """The warnings; empty if nothing impairs the comparison."""
    sentence = []
    if comparison.conditions:
        sentence.append(f"Conditions differ ({names(comparison.conditions)}): they may cause the differences, not the target.")
    sentence += [f"{one.letter}: {one.judged.sentence}" for one in comparison.curves if one.judged.severity == "critical"]
    sentence += [f"{one.letter}: {wording.first_change(one.regimes)}. {_LEFT_OUT}" for one in comparison.curves if one.regimes]
    for pair in comparison.pairs:
        if pair.clients is not None:
            sentence.append(_clients(pair))
        disturbed = [str(level.users) for level in pair.levels if level.disturbed]
        if disturbed:
            sentence.append(
                f"Other processes used the machine's CPU at {', '.join(disturbed)} users of {pair.before.letter} or "
                f"{pair.after.letter}, and any figure may differ because of that: no difference is claimed there."
            )
        if not pair.loads:
            sentence.append(f"{pair.before.letter} and {pair.after.letter} have no settled load in common.")
    sentence += [
        f"{one.letter}: {_damage(one.damaged)} in its log are missing from its figures."
        for one in comparison.curves
        if one.damaged
    ]
    sentence += [f"{one.letter} ended early: its last level may be missing." for one in comparison.curves if not one.complete]
    return sentence


def names(rows: Sequence[Differing]) -> str:
    """The names of the first NAMED conditions, and the number of further ones."""
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return ", ".join(row.name for row in rows[:NAMED]) + more


def _damage(lines: int) -> str:
    return f"{lines} damaged or missing line{'s' * (lines > 1)}"


def _clients(pair: Pair) -> str:
    before, after = pair.clients or ("", "")
    letters = f"{pair.before.letter} used {before}, {pair.after.letter} {after}"
    if len(pair.before.overheads) == 1 and len(pair.after.overheads) == 1:
        (ours,), (theirs,) = pair.before.overheads.values(), pair.after.overheads.values()
        size = theirs.p50_ms - ours.p50_ms
        return (
            f"{letters}: by itself {after} costs {latency(abs(size))} {'less' if size < 0 else 'more'} at the median, "
            "and that share of latency is client overhead, not the target's."
        )
    return f"{letters}, whose overheads were not measured: no difference in latency can be attributed to the target."
