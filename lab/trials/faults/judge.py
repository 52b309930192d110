"""Whether a run's marks are right. Pure: a row and marks in, a verdict out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from capexplorer.model.events import Mark

from .row import Row

KINDS = ("cause", "bottleneck", "leak")
CURVE_KINDS = ("knee", "at_or_below", "bend", "latency_knee")
SEVERE = ("error", "critical")
HARMLESS = ("think_time_limited", "not_saturated")
"""Ids that may be marked in a healthy run."""

NEIGHBOURS = "noisy_neighbours"
NEIGHBOURS_LEAST = 0.2
"""Cores that other processes must have used for `execution.BURST_S` seconds, for a mark that blames them to be right."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Ids of missing and of wrong marks of one run; both empty: all marks are right."""

    missing: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def right(self) -> bool:
        return not self.missing and not self.wrong

    @property
    def sentence(self) -> str:
        missing = [f"missing {', '.join(self.missing)}"] if self.missing else []
        wrong = [f"wrong {', '.join(self.wrong)}"] if self.wrong else []
        return "; ".join(missing + wrong) or "right"


def judge(row: Row, marks: Sequence[Mark], stderr: str = "", others: float = 0.0) -> Verdict:
    """All revisions are judged: a wrong mark that was retracted later was on the screen, too.

    `others`: cores that processes other than the row's used. From NEIGHBOURS_LEAST on, the mark NEIGHBOURS is right in any row.
    """
    found = list(relevant(marks))
    current = {mark.id for mark in latest(found) if mark.state != "retracted"} | reported(row, stderr)
    missing = [wanted for wanted in row.expected if wanted not in current]
    if row.one_of and not current & set(row.one_of):
        missing.append(" or ".join(row.one_of))
    right = {*row.expected, *row.one_of, *row.also_true}
    right |= {NEIGHBOURS} if others >= NEIGHBOURS_LEAST else set()
    wrong = {mark.id: None for mark in found if mark.id not in right and _is_blame(row, mark)}
    curve = {mark.kind: None for mark in marks if row.no_knee and mark.kind in CURVE_KINDS}
    return Verdict(tuple(missing), (*wrong, *curve))


def reported(row: Row, stderr: str) -> set[str]:
    """Ids of marks that cannot be in the log, by their words on stderr."""
    return {name for name, words in row.reported.items() if words in stderr}


def relevant(marks: Iterable[Mark]) -> Iterable[Mark]:
    """Causes, bottlenecks and leaks."""
    return (mark for mark in marks if mark.kind in KINDS)


def latest(marks: Iterable[Mark]) -> list[Mark]:
    """The current revision of each."""
    return list({mark.key: mark for mark in marks}.values())


def _is_blame(row: Row, mark: Mark) -> bool:
    """Whether a mark blames something: bottlenecks, leaks and severe causes do; in rows of healthy services any cause does."""
    if row.family == "healthy" or mark.kind != "cause":
        return mark.id not in HARMLESS
    return mark.severity in SEVERE
