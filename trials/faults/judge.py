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
"""Cores that others must have used for some seconds (`execution.BURST_S`) of the run for a mark that blames them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Problems of the marks of one run; both empty: none."""

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
    """Every revision counts: a wrong mark that was retracted later was on the screen, too.

    `others`: cores that processes other than the row's used. If that is much, a mark of them is right on any row.
    """
    found = list(relevant(marks))
    standing = {mark.id for mark in latest(found) if mark.state != "retracted"} | reported(row, stderr)
    missing = [wanted for wanted in row.expected if wanted not in standing]
    if row.one_of and not standing & set(row.one_of):
        missing.append(" or ".join(row.one_of))
    right = {*row.expected, *row.one_of, *row.also_true}
    right |= {NEIGHBOURS} if others >= NEIGHBOURS_LEAST else set()
    wrong = {mark.id: None for mark in found if mark.id not in right and _is_blame(row, mark)}
    curve = {mark.kind: None for mark in marks if row.no_knee and mark.kind in CURVE_KINDS}
    return Verdict(tuple(missing), (*wrong, *curve))


def reported(row: Row, stderr: str) -> set[str]:
    """Marks that could not be written to the log."""
    return {name for name, words in row.reported.items() if words in stderr}


def relevant(marks: Iterable[Mark]) -> Iterable[Mark]:
    """Causes, bottlenecks and leaks."""
    return (mark for mark in marks if mark.kind in KINDS)


def latest(marks: Iterable[Mark]) -> list[Mark]:
    """The current revision of each."""
    return list({mark.key: mark for mark in marks}.values())


def _is_blame(row: Row, mark: Mark) -> bool:
    """A severe cause, any bottleneck or leak at all, and on a healthy run any cause at all."""
    if row.family == "healthy" or mark.kind != "cause":
        return mark.id not in HARMLESS
    return mark.severity in SEVERE
