"""The list of findings in a report: the current marks, causes first, with evidence and advice. `wording` has the sentences."""

from __future__ import annotations

from dataclasses import dataclass

from .. import wording
from ..model.events import Header, Mark, MarkChange, Note
from ..model.findings import Cause, Shift
from ..model.grades import SEVERITIES
from ..model.timeline import Timeline

_ORDER = (
    "cause", "knee", "at_or_below", "bend", "latency_knee", "rate_capacity", "bottleneck", "leak", "shift", "recovery",
    "rate_recovery", "stop_rule", "replies_changed",
)  # fmt: skip
"""Causes first: a cause in the generator may mean that the other findings do not describe the service."""
WITHOUT_EVIDENCE = ("shift", "recovery", "rate_capacity", "rate_recovery", "stop_rule", "replies_changed")
"""Kinds whose sentence already contains all their figures."""


@dataclass(frozen=True, slots=True)
class ListedFinding:
    """One mark, in words."""

    mark: Mark
    sentence: str
    """The finding, its user count and its confidence."""
    where: str
    """The place of a cause, a bottleneck or a leak: generator, host, network, target or check; else empty."""
    evidence: str
    """`412 × at 3.1/s, 01:23 to 02:10, GET /x 380; ports used 1,998`. May contain untrusted text."""
    example: str
    """One failure of a cause, unchanged. Untrusted text."""
    advice: str


def findings(timeline: Timeline) -> list[ListedFinding]:
    """The current marks, without retracted and superseded ones. Within a kind the most severe come first, equal ones in the
    order in which they were found.
    """
    found = sorted(
        wording.current_marks(timeline).values(), key=lambda mark: (_ORDER.index(mark.kind), SEVERITIES.index(mark.severity))
    )
    return [_finding(mark, wording.epoch_name(timeline, mark.epoch), timeline.header) for mark in found]


def _finding(mark: Mark, epoch: str, header: Header | None) -> ListedFinding:
    found, sentence = mark.finding, wording.short_sentence(mark)
    counts = ", ".join(filter(None, (wording.counted(found), _seen(mark), wording.endpoints(found))))
    readings = wording.readings(found)
    return ListedFinding(
        mark=mark,
        sentence=f"{epoch}: {sentence}" if epoch else sentence,
        where=wording.where(mark.id) if mark.kind in wording.BLAMES else "",
        evidence="" if mark.kind in WITHOUT_EVIDENCE else "; ".join(filter(None, (counts, readings, wording.doubts(found)))),
        example=wording.example(found),
        advice=wording.advice(found, header),
    )


def _seen(mark: Mark) -> str:
    """`01:23 to 02:10`, in session time; empty if it is not known."""
    cause = mark.finding
    if not isinstance(cause, Cause):
        return ""
    first_s, last_s = cause.first_s, cause.last_s
    return "" if first_s is None or last_s is None else f"{wording.session_time(first_s)} to {wording.session_time(last_s)}"


def marked_s(timeline: Timeline) -> dict[str, float]:
    """The time of each mark by its key, in seconds of the session: when it was first made with its present kind. For a shift it
    is when the service changed, and for a cause when its evidence began, both of which are known only later.
    """
    since: dict[str, tuple[object, float]] = {}
    for entry in timeline.journal:
        if isinstance(entry, Mark):
            what = (entry.kind, entry.id, entry.state == "retracted")
            if entry.key not in since or since[entry.key][0] != what:
                since[entry.key] = what, _at_s(entry)
    return {key: t_s for key, (_, t_s) in since.items()}


def _at_s(mark: Mark) -> float:
    """The time that one revision of a mark gives: the time of the change of a shift, the start of a cause's evidence, else
    `t_s`.
    """
    match mark.finding:
        case Shift(at_s=at_s):
            return at_s
        case Cause(first_s=float(first_s)):
            return first_s
    return mark.t_s


def changes(timeline: Timeline) -> list[MarkChange]:
    """Differences between the reanalysed and the recorded marks, without superseded ones."""
    event, current = timeline.reanalysed, wording.current_marks(timeline)
    return [each for each in event.changes if each.found is None or each.key in current] if event is not None else []


def notes(timeline: Timeline) -> list[Note]:
    """The user's notes, in order."""
    return [entry for entry in timeline.journal if isinstance(entry, Note)]
