"""Sentences about marks: the finding, its user count, its confidence, and how reanalysis changed it."""

from __future__ import annotations

from typing import Any, Literal

from ..model.catalogue import ENTRIES, NO_LIMITS, OF_USER_CODE, name
from ..model.events import Header, Mark, MarkChange, Reanalysed
from ..model.findings import (
    AtOrBelow,
    Bend,
    Blame,
    Bottleneck,
    Cause,
    CurveFinding,
    Knee,
    MarkKind,
    RateCapacityFinding,
    RateRecovered,
    Recovered,
    RepliesChanged,
    Shift,
    Stalled,
    StopRule,
)
from ..model.watched import ServerKind
from . import experiments, numbers, quantities
from .advice import advice
from .evidence import counted, failed_replies, readings
from .knee_sentences import BROKEN, LIMITS, knee, of_limits, verified
from .numbers import session_time
from .rate_sentences import rate_capacity, recovered

# -- Names of findings about watched parts, such as `the CPU of db is saturated`.

_SHOWN_BY: dict[ServerKind, str] = {
    "postgres": "its connections and lock waits",
    "redis": "its clients and operations",
    "nginx": "its connections",
    "statsd": "its requests",
    "prometheus": "its connections and lock waits",
}
"""What a server's own figures show, by the key that reads them."""


def figures_of_server(program: str, kind: ServerKind) -> str:
    """`postgres shows its connections and lock waits with `postgres = URL``."""
    means = f"`{kind} = URL`" + (" of its exporter" if kind == "prometheus" else "")
    return f"{program} shows {_SHOWN_BY[kind]} with {means} (docs/watch.md)"


def of_part(finding: Blame, part: str) -> str:
    """`db has no connection left (40 of 40)`, `sessions of db wait for locks (85%)`."""
    entry = ENTRIES.get(finding.name)
    words = ((entry.of_part if entry is not None else "") or f"{name(finding.name)} ({{part}})").format(part=part)
    figure, peers = _figure(finding), finding.readings.get("peers_at_ease")
    unlike = f", unlike {_joined(peers, 'and')}" if isinstance(peers, str) else ""
    return (f"{words} ({figure})" if figure else words) + unlike


def unwatched_party(finding: Blame) -> str:
    """`requests wait for a lock or a pool in proxy or web, or outside of what is watched`."""
    places = finding.readings.get("may_wait_in")
    if not isinstance(places, str):
        return name(finding.name)
    return f"requests wait for a lock or a pool in {_joined(places, 'or')}, or outside of what is watched"


def _joined(names: str, word: Literal["and", "or"]) -> str:
    """`web1, web3 and web4`."""
    *others, last = names.split(", ")
    return f"{', '.join(others)} {word} {last}" if others else last


def _figure(finding: Blame) -> str:
    """The most important figure of the finding; empty if it has none."""
    used, limit, waits = (finding.reading(key) for key in ("connections", "connections_limit", "lock_waits_ratio"))
    if used is not None and limit:
        return f"{numbers.number(used)} of {numbers.number(limit)}"
    return numbers.percent(waits) if waits is not None else ""


MARK_KINDS = {
    "knee": "knee",
    "at_or_below": "knee at or below",
    "bend": "bend",
    "latency_knee": "latency climbs",
    "rate_capacity": "capacity as a rate",
    "rate_recovery": "recovery",
    "cause": "cause",
    "bottleneck": "bottleneck",
    "leak": "leak",
    "shift": "shift",
    "recovery": "recovery",
    "stop_rule": "stop rule",
    "replies_changed": "hint",
    "stall": "stall",
}

PACED = "the users' own pace (constant_pacing, constant_throughput) sets the throughput"

BLAMES: tuple[MarkKind, ...] = ("cause", "bottleneck", "leak")
"""Kinds of marks with an id of docs/causes.md."""


def title(event: Mark) -> str:
    """The name of a cause, a bottleneck or a leak: `ephemeral ports exhausted (TIME_WAIT)`, `failed check: lost_updates`.

    Failures without a known cause are named by their most frequent symptom: `replies time out, cause unknown`.
    """
    finding = event.finding
    if isinstance(finding, Blame) and finding.part is not None:
        return of_part(finding, finding.part)
    if isinstance(finding, Bottleneck):
        return _limit(finding)
    if not isinstance(finding, Cause):
        return name(event.id)
    if finding.readings.get("proxy") == "no_local_port":
        return f"{name(event.id)}: the proxy has no local port left for its upstream"
    if finding.name in OF_USER_CODE and finding.example:
        return f"{name(event.id)}: {finding.example}"
    if finding.name == "unknown" and finding.symptoms:
        return f"{name(max(finding.symptoms, key=lambda each: finding.symptoms[each]))}, cause unknown"
    return f"{name(event.id)}: {finding.check}" if finding.check else name(event.id)


SENDING = "tcp.sending_sockets"
"""The reading without which a link in front of the service may be the limit."""


def _limit(finding: Bottleneck) -> str:
    """`a rate limiter delays requests to 100/s`. A lock is named alone only if the readings rule out a rate limiter."""
    how, status, rate_rps = finding.readings.get("how"), finding.readings.get("status"), finding.reading("output_rps")
    link, may_be_link = finding.reading("bytes_per_s"), SENDING in finding.unavailable
    if finding.name == "rate_limit" and how == "refuses":
        return f"a rate limiter refuses requests (HTTP {status})"
    if finding.name == "rate_limit" and rate_rps is not None:
        return f"a rate limiter{' or a network link' * may_be_link} delays requests to {quantities.rate(rate_rps)}"
    if finding.name == "network_bandwidth_saturated" and link is not None:
        return f"the network link is the limit ({quantities.bit_rate(link)})"
    if finding.name == "think_time_limited" and finding.reading("pacing_s") is not None:
        return PACED
    if finding.name == "unwatched_party":
        return unwatched_party(finding)
    if finding.left:
        return experiments.limit(finding.left)
    if finding.name == "lock_or_pool_limit":
        may_be_limiter = "rate_limit" in finding.competing
        what = "a lock, a pool or a rate limiter" if may_be_limiter else "a lock or a pool"
        place = " inside or in front of the service" if may_be_link else "" if may_be_limiter else " inside the service"
        return f"{what}{place} is the limit"
    return name(finding.name)


def mark(event: Mark, header: Header | None = None) -> str:
    """`cause: connections are reset at 120 users (high confidence): 412 × at 3.1/s, ... . Read the target's log.`

    `header`: the session's header; its operating system and limits select the advice.
    """
    advised = "" if event.state == "retracted" else advice(event.finding, header)
    found = event.finding
    listed = "" if _in_words(event) else ", ".join(filter(None, (counted(found), failed_replies(found), readings(found))))
    sentence = f"{short_sentence(event)}: {listed}" if listed and event.state != "retracted" else short_sentence(event)
    return _with_advice(sentence, advised)


def _with_advice(sentence: str, advised: str) -> str:
    """`sentence`, followed by the advice as a sentence of its own."""
    return f"{sentence}. {advised[:1].upper()}{advised[1:]}" if advised else sentence


def short_sentence(event: Mark) -> str:
    """The finding, its user count and its confidence, without readings and advice."""
    sentence = _in_words(event) if event.state != "retracted" else None
    if sentence is not None:
        return sentence
    sure = f" ({event.confidence} confidence)" if event.confidence is not None else ""
    how = {"retracted": ": retracted", "closed": ", not seen at the last load"}.get(event.state, "")
    return f"{_named(event)}{sure}{how}"


def _named(event: Mark) -> str:
    """`cause: connections are reset at 120 users`."""
    kind, called = MARK_KINDS[event.kind], title(event)
    if event.kind == "latency_knee" and event.users is not None:
        return f"latency climbs from {numbers.counted(event.users)}"
    if event.kind == "at_or_below":
        return kind if event.users is None else f"{kind} {numbers.counted(event.users)}"
    sentence = called if called == kind or event.id in NO_LIMITS else f"{kind}: {called}"
    return f"{sentence}{at_load(event)}"


def at_load(event: Mark, between: str = " at ") -> str:
    """` at 82 users`, ` at 80/s offered`; empty if the mark is about no load."""
    is_known = event.users is not None or event.offered_per_s is not None
    return f"{between}{quantities.load(event.users, event.offered_per_s)}" if is_known else ""


def _in_words(event: Mark) -> str | None:
    """The mark as one sentence; None if its readings are listed instead."""
    match event.finding:
        case Knee(verdict=found) if found.users_low is not None and found.users_high is not None:
            sure = f" ({event.confidence} confidence)" if event.confidence else ""
            name = found.limit or "unknown"
            limit = BROKEN[name] if name in BROKEN else f"limited by {LIMITS[name]}"
            interval = numbers.interval(found.users_low, found.users_high)
            rate = f" and {quantities.rate(found.capacity_rps)}{of_limits(found)}"
            return f"knee at {numbers.counted(event.users)} {interval}{rate}, {limit}{sure}"
        case AtOrBelow(verdict=found) | Bend(verdict=found) if found.limit is not None:
            return _curve(event)
        case Shift() as shift if shift.rose is not None:
            pair = (shift.before, shift.after)
            change = quantities.rates(pair, " to ") if shift.column == "goodput" else quantities.latencies(pair, " to ")
            where = f"at {session_time(shift.at_s)} ({quantities.load(event.users, event.offered_per_s)})"
            return f"shift: {shift.column} {'rose' if shift.rose else 'fell'} from {change} {where} and stayed there"
        case Stalled(at_s=at_s, seconds=seconds):
            where = f"at {session_time(at_s)} ({quantities.load(event.users, event.offered_per_s)})"
            return f"stall: no reply for at least {seconds} s {where}; then the service went on as before"
        case Recovered(recovery=back):
            way = f"stepping down from {numbers.users(back.from_users)} to {numbers.counted(back.to_users)}"
            if back.recovered:
                return f"recovery: the service recovered {numbers.number(back.after_s)} s after {way}"
            ratios = (("goodput", back.goodput_ratio), ("latency", back.latency_ratio))
            shares = [f"{what} {ratio:.0%}" for what, ratio in ratios if ratio is not None]
            return f"recovery: the service did not recover after {way}: {' and '.join(shares)} of the earlier level"
        case RateCapacityFinding(capacity=found_rate):
            sure = f" ({found_rate.confidence} confidence)" if found_rate.confidence else ""
            return rate_capacity(found_rate) + sure
        case RateRecovered(recovery=back_at_rate):
            return f"recovery: {recovered(back_at_rate)}"
        case RepliesChanged() as replies:
            return f"hint: {of_another_kind(replies, event)}"
        case StopRule() as rule:
            ended = f"; this ended the {rule.ended}" if rule.ended else ""
            return stop_rule(rule.rule, rule.measured, rule.limit) + at_load(event) + ended
    return None


def of_another_kind(found: RepliesChanged, event: Mark) -> str:
    """`from 24 users on, up to 77% of the replies of GET / are about 41 B in 2 ms, not about 620 B in 102 ms: are they ...?`"""
    since = f"from {quantities.load(event.users, event.offered_per_s)} on"
    share = f"up to {found.share_ratio:.0%} of the replies of {found.method} {found.name}"
    now, before = (
        f"about {quantities.size(size)} in {quantities.latency(latency_ms)}"
        for size, latency_ms in ((found.size_bytes, found.latency_ms), (found.size_before_bytes, found.latency_before_ms))
    )
    return f"{since}, {share} are {now}, not {before}: are they errors? Check what they say"


def stop_rule(rule: str, measured: float, limit: float) -> str:
    """`stop rule: p95 1,240 ms exceeds 1,000 ms`, `stop rule: failure ratio 0.62 exceeds 0.5`."""
    side = "is below" if rule == "throughput_growth_ratio" else "exceeds"
    name = rule.removesuffix("_ms") if rule in ("p95_ms", "p99_ms") else rule  # others may be metrics that a target names
    figures = [numbers.number(each) if name == rule else quantities.latency(each) for each in (measured, limit)]
    return f"stop rule: {name.replace('_', ' ')} {f' {side} '.join(figures)}"


def journal_mark(event: Mark, header: Header | None = None) -> str:
    """Shorter, for the journal: `scaling flattens from 60 users (medium confidence). 2 more levels ...`.

    Causes, bottlenecks and leaks come without advice: `cause: connections are reset at 80 users (high confidence),
    412 × at 3.1/s`.
    """
    if event.kind in BLAMES:
        counts = (counted(event.finding), failed_replies(event.finding)) if event.state != "retracted" else ()
        return ", ".join(filter(None, (short_sentence(event), *counts)))
    if event.kind not in ("at_or_below", "bend", "latency_knee") or event.state == "retracted":
        return mark(event, header)
    sentence, advised = _curve(event), advice(event.finding, header)
    return _with_advice(sentence, advised)


def _curve(event: Mark) -> str:
    """A finding about the capacity curve, without its readings."""
    assert isinstance(event.finding, CurveFinding)
    sure = f" ({event.confidence} confidence)" if event.confidence else ""
    return knee(event.finding.verdict) + sure


def revised(event: Mark) -> str:
    """A later revision of a published knee: `knee now 45 [41–49] at 121/s, queueing`, and `verified` or `contradicted` if so."""
    if not isinstance(event.finding, CurveFinding):
        return mark(event)
    subject, _, rest = knee(event.finding.verdict).partition(" ")
    state = verified(event.finding.verdict)
    return f"{subject} now {rest}" + (f", {state}" if state and state != "provisional" else "")


def reanalysed(event: Reanalysed) -> str:
    """`reanalysed by capexplorer 0.2.0: 3 marks recorded, 4 now; 1 new, 0 gone, 2 changed`."""
    counts = ", ".join(f"{sum(each.kind == kind for each in event.changes)} {kind}" for kind in ("new", "gone", "changed"))
    marks = f"{numbers.several(event.recorded, 'mark')} recorded, {event.found} now"
    return f"reanalysed by capexplorer {event.version}: {marks}; {counts}"


def change(event: MarkChange) -> str:
    """How reanalysis changed one mark: `new: knee ...`, `gone: ...`, `changed: knee at 28 users: capacity rps 213 → 210`."""
    about = event.found or event.recorded
    if about is None:
        return f"{event.kind}: {event.key}"
    if event.kind != "changed":
        return f"{event.kind}: {mark(about)}"
    return f"changed: {_named(about)}: " + ", ".join(
        f"{each.name.replace('_', ' ')} {_known(each.recorded)} → {_known(each.found)}" for each in event.figures
    )


def _known(value: Any) -> str:
    return "unknown" if value is None else numbers.figure(value)
