"""Which requests that are kept whole belong to a cause, by the causes that their failure may resolve to and by its time. Pure.

A request is kept with the kind of its failure, not with its cause, which depends on readings that arrive later. A request that
two causes of the same seconds can explain belongs to both.
"""

from __future__ import annotations

from collections.abc import Callable

from ...model.events import FailureSignature, Mark
from ...model.findings import Cause
from ...model.kept_request import BRIEF_TEXT_MOST, RequestBrief
from ...model.timeline import Timeline
from .catalogue import DEATHS, ENTRIES
from .classify import by_status, classify
from .confirmation import ESTABLISHED, TIME_WAIT
from .resolve import BROKEN, DNS_FAILURE, FAILED_TASK, PORT_EXHAUSTION, TIMEOUTS, needs_readings

_DESCRIPTORS = ("fd_exhaustion_generator", "fd_exhaustion_system")

RESOLVED_TO: dict[str, frozenset[str]] = {
    PORT_EXHAUSTION: frozenset((TIME_WAIT, ESTABLISHED, "unknown")),
    DNS_FAILURE: frozenset((DNS_FAILURE, *_DESCRIPTORS)),
    FAILED_TASK: frozenset((FAILED_TASK, "fd_exhaustion_target")),
    **dict.fromkeys(
        TIMEOUTS,
        frozenset(
            ("conntrack_table_full", *_DESCRIPTORS, "fd_exhaustion_target", "listen_backlog_overflow", "syn_queue_overflow",
             "packet_loss", "unknown", *DEATHS)
        ),
    ),
    **{
        symptom: frozenset((symptom, "connection_reset", "keepalive_race", "tcp_memory_pressure", "target_restarted", *DEATHS))
        for symptom in BROKEN
    },
}  # fmt: skip
"""The causes that each symptom may be resolved to by readings (`resolve`), or by the death of the target (`cause_detector`)."""

BEFORE_S, AFTER_S = 2.0, 1.0
"""Tolerance before and after the times of a cause: those are ends of ticks of a second, and a failure counts in the tick in which
it ended."""


def belongs_to_mark(mark: Mark, timeline: Timeline) -> Callable[[RequestBrief], bool]:
    """A function that decides whether a kept request belongs to this mark: none belongs to a mark that is no cause."""
    cause = mark.finding
    if not isinstance(cause, Cause):
        return lambda brief: False
    system = timeline.header.host.system if timeline.header is not None else None
    kinds = {
        (failure.method, failure.name, failure.signature.kind[:BRIEF_TEXT_MOST])
        for failure in timeline.failures.values()
        if _may_be(cause, failure.signature, system)
    }
    first_s = -BEFORE_S if cause.first_s is None else cause.first_s - BEFORE_S
    last_s = timeline.last_s if cause.last_s is None else cause.last_s

    def belongs(brief: RequestBrief) -> bool:
        ended_s = brief.t_s + brief.response_ms / 1000
        is_then = first_s <= ended_s <= last_s + AFTER_S
        return is_then and (brief.method, brief.name, brief.kind[:BRIEF_TEXT_MOST]) in kinds

    return belongs


def _may_be(cause: Cause, signature: FailureSignature, system: str | None) -> bool:
    found = classify(signature, system)
    found = found if found in ENTRIES else "unknown"
    if signature.after_status is not None and found in BROKEN:
        return cause.name in (by_status(signature.after_status), *DEATHS)
    if needs_readings(found, signature):
        return cause.name in RESOLVED_TO[found]
    return cause.name == found and (found != "failed_check" or cause.check == signature.text)
