"""Whether the right part is blamed for the right cause. Pure: a row and marks in, missing and wrong marks out."""

from __future__ import annotations

from collections.abc import Sequence

from capexplorer.model.events import Mark
from capexplorer.model.findings import Blame
from lab.trials.faults.judge import HARMLESS, NEIGHBOURS, NEIGHBOURS_LEAST, Verdict, latest, relevant

from .row import Part, Place, Row

FRONT: Part = "proxy"
"""The part to which load goes. In the place `here` it is the target as well, so that marks of the target belong to it."""


def blamed(mark: Mark, place: Place) -> str | None:
    """The part that a mark blames; None: no part."""
    part = mark.finding.part if isinstance(mark.finding, Blame) else None
    return FRONT if part is None and place == "here" else part


def judge(row: Row, place: Place, marks: Sequence[Mark], others: float) -> Verdict:
    """All revisions are judged. Causes without a part are failures that the generator observed, and are not judged here.

    `others`: cores that other processes used.
    """
    found = [mark for mark in relevant(marks) if not _is_symptom(mark)]
    current = {(mark.id, blamed(mark, place)) for mark in latest(found) if mark.state != "retracted"}
    missing = () if not row.expected or current & {(each, row.part) for each in row.expected} else (" or ".join(row.expected),)
    right = {(each, row.part) for each in (*row.expected, *row.also_true)} | set(row.elsewhere)
    seen = {(mark.id, blamed(mark, place)): None for mark in found if mark.id not in HARMLESS}
    wrong = tuple(
        f"{id_} of {part or 'no part'}"
        for id_, part in seen
        if (id_, part) not in right and not (id_ == NEIGHBOURS and others >= NEIGHBOURS_LEAST)
    )
    return Verdict(missing, wrong)


def _is_symptom(mark: Mark) -> bool:
    return mark.kind == "cause" and isinstance(mark.finding, Blame) and mark.finding.part is None
