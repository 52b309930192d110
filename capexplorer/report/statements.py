"""What a report says beside its tables: what a user is, how objectives were met, at which load to operate; then the findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from .. import wording
from ..model.events import Header, Mark, MarkChange, Note, Verdict, clients_of
from ..model.findings import Cause, Shift, Stalled
from ..model.load import Rate
from ..model.stages import LIMIT_NAMES
from ..model.timeline import Timeline
from ..model.verdicts import SEVERITIES, RateObjective, SloVerdict
from ..wording import numbers, quantities


def opening(timeline: Timeline) -> list[str]:
    """The sentences, without those that are not known; what is recommended comes first. May contain untrusted text."""
    header, verdicts = timeline.header, wording.reported(timeline)
    objectives = [each for epoch, found in verdicts.items() for each in _named(timeline, epoch, _objectives(found))]
    users = [] if header is None else _users(header, timeline)
    required = [f"Required: {wording.answer(each)}." for each in timeline.answers]
    return [
        each for each in [*wording.operating_loads(timeline), *users, *required, *(objectives or [_not_judged(header)])] if each
    ]


def _named(timeline: Timeline, epoch: int, sentences: Iterator[str]) -> Iterator[str]:
    """The sentences with the epoch that they are about, if there are several."""
    name = wording.epoch_title(timeline, epoch)
    return (f"{name}: {each[0].lower()}{each[1:]}" if name else each for each in sentences)


def _users(header: Header, timeline: Timeline) -> list[str]:
    """`A user sends a request, waits 0.1 to 0.5 s after the reply, and sends the next one (FastHttpUser).` At offered rates no
    user waits: `At an offered rate, requests begin on a schedule that waits for no reply.`
    """
    users: Mapping[str, Any] = header.profile.get("users") or {}
    clients = " and ".join(clients_of(header))
    by, locustfile = f" ({clients})" if clients else "", users.get("locustfile")
    at_rates = [isinstance(level.load, Rate) for level in timeline.levels]
    found, waits = [], _waits(users.get("wait_s"))
    if locustfile:
        found.append(f"The users are those of {locustfile}{by}.")
    elif waits and not (at_rates and all(at_rates)):
        found.append(f"A user sends a request, {waits}, and sends the next one{by}.")
    if any(at_rates):
        what, by = ("tasks", "") if locustfile else ("requests", by if not found else "")
        found.append(f"At an offered rate, {what} begin on a schedule that waits for no reply{by}.")
    return found


def _waits(wait: Any) -> str:
    """`waits 0.1 to 0.5 s after the reply`; empty if it is not known."""
    given = wait if isinstance(wait, Mapping) else {"constant": wait} if isinstance(wait, int | float) else {}
    kind, value = next(((kind, value) for kind, value in given.items() if value is not None), ("", 0.0))
    match kind, value:
        case "between", [low, high]:
            return f"waits {numbers.number(low)} to {numbers.number(high)} s after the reply"
        case "constant", seconds:
            return f"waits {numbers.number(seconds)} s after the reply" if seconds else "does not wait after the reply"
        case "poisson", per_s:
            return f"waits {numbers.number(1 / per_s)} s after the reply on average (exponential)"
        case "constant_pacing", seconds:
            return f"waits until {numbers.number(seconds)} s after it was sent"
        case "constant_throughput", per_s:
            return f"waits so that it makes {quantities.rate(per_s)}"
        case _:
            return ""


def _not_judged(header: Header | None) -> str:
    """What to say without a verdict on an objective: there is none, or nothing that could be judged by it."""
    wanted: Mapping[str, Any] = (header.profile.get("slo") if header is not None else None) or {}
    of_request = {f"{name}_ms" for name in LIMIT_NAMES}  # these are judged with each request
    is_set = any(limit is not None for name, limit in wanted.items() if name not in of_request)
    return "The objectives could not be judged: too few levels." if is_set else "No objective is set."


def _objectives(found: Verdict) -> Iterator[str]:
    """`Objective p95 ≤ 200 ms: met up to 23 users.`, `Objective p95 from plan ≤ 200 ms: met at all loads, up to 40/s.`"""
    for slo in found.slo:
        yield _objective(wording.objective_name(slo), slo, numbers.counted(slo.users))
    for each in found.rates.objectives if found.rates is not None else ():
        yield _objective(wording.rate_objective_name(each), each, quantities.rate(each.per_s))


def _objective(name: str, found: SloVerdict | RateObjective, load: str) -> str:
    few = ", from few values" if found.thin else ""
    if found.state == "broken":
        return f"Objective {name}: not met at any load{few}."
    return f"Objective {name}: met {'up to' if found.state == 'crossed' else 'at all loads, up to'} {load}{few}."


# -- listed findings -----------------------------------------------------------------------------------------------------------
# The list of findings in a report: the current marks, causes first, with evidence and advice. `wording` has the sentences.


_ORDER = (
    "cause", "knee", "at_or_below", "bend", "latency_knee", "rate_capacity", "bottleneck", "leak", "shift", "recovery",
    "rate_recovery", "stop_rule", "replies_changed", "stall",
)  # fmt: skip
"""Causes first: a cause in the generator may mean that the other findings do not describe the service."""
WITHOUT_EVIDENCE = ("shift", "recovery", "rate_capacity", "rate_recovery", "stop_rule", "replies_changed", "stall")
"""Kinds whose sentence already contains all their figures."""


class ListedFinding(msgspec.Struct, frozen=True):
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
        case Shift(at_s=at_s) | Stalled(at_s=at_s):
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
