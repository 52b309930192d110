"""Marks as a report lists them: those that stand, causes first, with evidence and advice. Wording is `analysis.wording`."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ..analysis import wording
from ..model.events import Mark, MarkChange, Note
from ..model.timeline import Timeline

_ORDER = ("cause", "knee", "at_or_below", "bend", "latency_knee", "bottleneck", "leak", "shift", "recovery", "stop_rule")
"""Causes first: the generator's may say that all else is none of the service's."""
_IN_TABLE = (
    "users_low", "users_high", "capacity_rps", "capacity_se_rps", "limit", "provisional", "peak_users", "peak_rps", "peak_shape",
    "peak_fall_ratio",
)  # fmt: skip
"""Of a knee: what the table of knees says, and the sentence before all."""
_GRAVEST = ("critical", "error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One mark, in words."""

    mark: Mark
    said: str
    """What was found, where, how surely."""
    where: str
    """Of a cause, a bottleneck or a leak: generator, host, network, target or check; else empty."""
    evidence: str
    """`412 × at 3.1/s, 01:23 to 02:10, GET /x 380; ports used 1,998`; may hold foreign text."""
    example: str
    """Of a cause: one failure as it came. Foreign."""
    advice: str


def findings(timeline: Timeline) -> list[Finding]:
    """Retracted and superseded marks are in the log only; of one kind the gravest stand first, those in the order found."""
    found = sorted(wording.standing(timeline).values(), key=lambda mark: (_ORDER.index(mark.kind), _GRAVEST.index(mark.severity)))
    return [_finding(mark, wording.epoch_name(timeline, mark.epoch)) for mark in found]


def _finding(mark: Mark, epoch: str) -> Finding:
    evidence, blames = mark.evidence, mark.kind in wording.BLAMES
    check = {"check": evidence["check"]} if "check" in evidence else {}
    bare = wording.mark(msgspec.structs.replace(mark, evidence=check, advice=""))
    if mark.kind in ("knee", "at_or_below", "bend"):
        evidence = {name: value for name, value in evidence.items() if name not in _IN_TABLE}
    counts = ", ".join(filter(None, (wording.counted(evidence), _seen(mark), wording.endpoints(evidence))))
    told = "; ".join(filter(None, (counts, wording.readings(evidence), wording.doubts(evidence))))
    said = f"{epoch}: {bare}" if epoch else bare
    return Finding(mark, said, wording.where(mark.id) if blames else "", told, wording.example(evidence), mark.advice)


def _seen(mark: Mark) -> str:
    """`01:23 to 02:10`, in the session's time; empty where it is not told."""
    first_s, last_s = (_number(mark, name) for name in ("first_s", "last_s"))
    return "" if first_s is None or last_s is None else f"{wording.session_time(first_s)} to {wording.session_time(last_s)}"


def marked_s(timeline: Timeline) -> dict[str, float]:
    """By key: the moment that a mark stands at, in seconds of the session: since when it has been of its kind; of a shift, when
    the service changed, which is known only later.
    """
    since: dict[str, tuple[object, float]] = {}
    for entry in timeline.journal:
        if isinstance(entry, Mark):
            what = (entry.kind, entry.id, entry.state == "retracted")
            if entry.key not in since or since[entry.key][0] != what:
                since[entry.key] = what, _at_s(entry)
    return {key: t_s for key, (_, t_s) in since.items()}


def _at_s(mark: Mark) -> float:
    """Of a cause: when its evidence began, however late the latest revision is."""
    at_s = _number(mark, {"shift": "at_s", "cause": "first_s"}.get(mark.kind, ""))
    return mark.t_s if at_s is None else at_s


def _number(mark: Mark, name: str) -> float | None:
    value = mark.evidence.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def changes(timeline: Timeline) -> list[MarkChange]:
    """What detectors found otherwise than recorded, without what is superseded now."""
    event, standing = timeline.reanalysed, wording.standing(timeline)
    return [each for each in event.changes if each.found is None or each.key in standing] if event is not None else []


def notes(timeline: Timeline) -> list[Note]:
    """What the user wrote, in order."""
    return [entry for entry in timeline.journal if isinstance(entry, Note)]
