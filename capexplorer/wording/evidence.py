"""A finding's evidence as text: counts, endpoints, readings, and readings that could not be taken. Text from a target is
unescaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..model.catalogue import name
from ..model.findings import Blame, Bottleneck, Cause, CurveFinding, Finding, Leak
from ..model.verdicts import KneeEvidence, KneeVerdict
from . import numbers, quantities
from .numbers import session_time

# -- The evidence of a finding about the capacity curve, as sentences.


def curve_evidence(finding: CurveFinding) -> str:
    """`at low load each user makes 2.69/s (3 levels); at the highest level goodput is 50% of linear scaling`; empty if nothing
    was measured.
    """
    return "; ".join((*_of_levels(finding.verdict.evidence), *_beyond(finding.verdict)))


def _of_levels(seen: KneeEvidence) -> Iterator[str]:
    """The low-load line, the top of the curve, and the levels around the knee."""
    if seen.low_load_rps_per_user is not None:
        levels = f" ({numbers.several(seen.baseline_levels, 'level')})" if seen.baseline_levels else ""
        yield f"at low load each user makes {quantities.rate(seen.low_load_rps_per_user)}{levels}"
    if seen.top_efficiency is not None:
        words = f"at the highest level goodput is {seen.top_efficiency:.0%} of linear scaling"
        if seen.top_slope is None:
            yield words
        elif seen.top_slope <= 0:
            yield f"{words}, and more users do not raise it"
        else:
            yield f"{words}, and an additional user adds {seen.top_slope:.0%} of what one adds at low load"
    if seen.levels_below is not None and seen.levels_beyond is not None:
        width = f" (interval ±{seen.half_width_ratio:.0%})" if seen.half_width_ratio is not None else ""
        lie = "lies" if seen.levels_below == 1 else "lie"
        yield f"{numbers.several(seen.levels_below, 'level')} {lie} below the knee and {seen.levels_beyond} above it{width}"


def _beyond(found: KneeVerdict) -> Iterator[str]:
    """What changes beyond the knee: latency, failures, unexplained time, late work or timers, and goodput that falls."""
    seen = found.evidence
    if seen.latency_ms is not None and seen.low_load_latency_ms is not None:
        was, now = quantities.latency(seen.low_load_latency_ms), quantities.latency(seen.latency_ms)
        yield f"mean latency rises from {was} at low load to {now}"
    elif seen.response_ratio is not None:
        yield f"responses take {numbers.number(seen.response_ratio)} times as long as at low load"
    if seen.beyond_limit_ratio and seen.beyond_limit_users:
        at = numbers.counted(seen.beyond_limit_users)
        yield f"at {at} {numbers.percent(seen.beyond_limit_ratio)} of the requests exceed a limit on a single one"
    if seen.failure_ratio_more and seen.failure_ratio_more > 0:
        replied = seen.failures_replied_ratio
        status = "" if replied is None else f"; {numbers.percent(replied)} of the failures have an HTTP status"
        yield f"beyond the knee {numbers.percent(seen.failure_ratio_more)} more requests fail than at low load{status}"
    if seen.unaccounted_ratio is not None:
        lost = 1 - 1 / seen.unaccounted_ratio
        yield f"neither responses nor think time account for {lost:.0%} of the users' time (Little's law)"
    elif seen.little_ratio is not None:
        yield f"responses and think time account for {1 / seen.little_ratio:.0%} of the users' time (Little's law)"
    if seen.work_lag_ratio:
        yield f"{numbers.percent(seen.work_lag_ratio)} of the accepted work is not finished"
    elif seen.loop_lag_ms is not None:
        yield f"the generator's timers are {quantities.latency(seen.loop_lag_ms)} late"
    if found.peak is not None:
        rate, at = quantities.rate(found.peak.goodput_rps), numbers.counted(found.peak.users)
        yield f"goodput peaks at {rate} with {at} and falls by {found.peak.fall_ratio:.0%} beyond"


WORDED_SEPARATELY = frozenset(
    ("count", "failures", "retried", "seconds", "deaths", "first_s", "last_s", "since_s", "rate_per_s", "endpoints", "example",
     "logged", "check", "unit", "unavailable", "competing", "part")
)  # fmt: skip
"""Keys that are not listed as readings, since other functions have texts for them."""

IN_UNIT = ("growth_per_hour", "growth_per_hour_low", "growth_per_hour_high", "growth_per_request", "now", "limit")
"""Keys of a leak whose values are bytes or descriptors, by its `unit`."""

PHRASES = {
    "pid": "process {}",
    "levels": "levels that show it {}",
    "users_at": "measured at {users}",
    "offered_at_per_s": "measured at {} offered",
    "grounds": "signs: {}",
    "at_s": "at {moment}",
    "busiest": "busiest resource {}",
    "cores": "cores of the host {}",
    "cores_allowed": "cores that it may use {}",
    "cores_idle": "idle cores {}",
    "target_cpu_ratio": "the target uses {cores}",
    "host_cpu_ratio": "the host uses {cores}",
    "generator_cpu_ratio": "the generator uses {cores}",
    "others_cpu_ratio": "other processes use {cores}",
    "busiest_thread_ratio": "its busiest thread uses {cores}",
    "threads_ratio": "the generator's other threads use {cores}",
    "busy_ratio": "the load thread is busy {} of the time",
    "run_delay_ratio": "threads that wait for a core {number}",
    "target_run_delay_ratio": "threads of the target that wait for a core {number}",
    "generator_run_delay_ratio": "the load thread waits for a core {} of the time",
    "generator_share_ratio": "the generator's share of both {}",
    "cpu_pressure_ratio": "tasks wait for a core {} of the time",
    "memory_pressure_ratio": "tasks wait for memory {} of the time",
    "io_pressure_ratio": "tasks wait for the disk {} of the time",
    "disk_busy_ratio": "the disk is busy {} of the time",
    "throttled_ratio": "throttled {} of the time",
    "steal_share": "the hypervisor takes {percent} of the CPU time",
    "lock_waits_ratio": "sessions that wait for a lock {}",
    "requests_running": "requests in its batch {}",
    "requests_waiting": "requests that wait for a place in it {}",
    "kv_cache_ratio": "its KV cache is used to {}",
    "preemptions_per_s": "requests sent back to the queue {}",
    "tokens_read_per_s": "tokens of streams that it reads {}",
    "tpot_ms": "time per token {}",
    "tpot_before_ms": "with few users {}",
    "loop_lag_p99_ms": "timers late by {} (p99)",
    "unaccounted_ms": "time of a request that nothing explains {}",
    "wait_s": "think time {}",
    "response_ms": "response time {}",
    "expected_rps": "expected from both {}",
    "requests_inside": "requests inside the service {}",
    "output_rps": "requests finished {}",
    "output_dispersion_high": "variance of finished requests per second over their mean, at most {}",
    "backlog": "work accepted and not finished {}",
    "backlog_growth_per_s": "which grows by {}",
    "finished_per_s": "work finished {}",
    "waiting_bytes": "{} wait to be sent",
    "sending_sockets": "connections with data on the way {}",
    "listen_queue": "connections that wait to be accepted {}",
    "listen_backlog": "places for them {}",
    "fds": "open files {}",
    "fds_limit": "limit of open files {}",
}
"""Phrases for keys that do not explain themselves. `{}` is the value in the unit that the end of its key names, `{cores}` and
others are values that this end does not tell."""

GROUNDS = {
    "busy": "the load thread is busy", "blocked": "its timers are late", "idle_target": "the target is idle",
    "loop_lag": "some timers are late", "little": "users wait for more than responses",
}  # fmt: skip
"""Phrases for the values of `grounds`."""

GROWTH = frozenset(
    (
        "users_before", "users_at", "offered_before_per_s", "offered_at_per_s",
        "goodput_growth_ratio", "latency_growth_ratio",
    )
)  # fmt: skip
"""Keys of a bottleneck that one sentence tells together."""

_ENDPOINTS = 4
"""Maximum number of endpoints in a line."""

_RATES = ("_per_s", "_rps")
_SUFFIXES = (*_RATES, "_bytes", "_ratio", "_s", "_ms")


def counted(finding: Finding) -> str:
    """`412 × at 3.1/s`, `for 12 s` where seconds were counted; empty if there is no count."""
    if not isinstance(finding, Cause) or not finding.count:
        return ""
    count, rate, retried = finding.count, finding.rate_per_s, finding.counted.get("retried")
    if finding.counted.get("seconds") == count:
        return f"for {numbers.span(count)}"
    if finding.counted.get("deaths") == count:
        return "" if count == 1 else f"{numbers.number(count)} ×"
    hidden = f", {numbers.number(retried)} repeated by the client" if retried else ""
    return f"{numbers.number(count)} ×" + (f" at {quantities.rate(rate)}" if rate else "") + hidden


def endpoints(finding: Finding) -> str:
    """`GET /x 380, POST /y 32, 2 more`; empty if unknown."""
    counts = finding.endpoints if isinstance(finding, Cause) else {}
    most = sorted(counts.items(), key=lambda each: -each[1])
    more = [f"{len(most) - _ENDPOINTS} more"] if len(most) > _ENDPOINTS else []
    return ", ".join([*(f"{endpoint} {numbers.number(count)}" for endpoint, count in most[:_ENDPOINTS]), *more])


def failed_replies(finding: Finding) -> str:
    """The requests that a service answered with failures, and what one of the replies said: `GET /x 380, POST /y 32 (404: no such
    order)`. Empty unless the replies had a status: failures below HTTP are not about single requests.
    """
    if not isinstance(finding, Cause) or not finding.statuses:
        return ""
    says_more = finding.example not in ("", *(f"code={status}" for status in finding.statuses))
    return endpoints(finding) + (f" ({finding.example})" if says_more else "")


def example(finding: Finding) -> str:
    """Text of one failure, unescaped; empty if there is none. The matching line of the target's log is in the advice."""
    return finding.example if isinstance(finding, Cause) else ""


def readings(finding: Finding) -> str:
    """All figures for which no other function has a text, each with its unit: `ports used 1,998, ports capacity 2,000`.

    For a finding about the capacity curve, sentences.
    """
    if isinstance(finding, CurveFinding):
        return curve_evidence(finding)
    unit = finding.unit if isinstance(finding, Leak) else ""
    told = _growth(finding) if isinstance(finding, Bottleneck) else ""
    left_out = WORDED_SEPARATELY | (GROWTH if told else frozenset())
    listed = ((key, value) for key, value in finding.figures().items() if key not in left_out and value is not False)
    return ", ".join(each for each in (told, *(_reading(key, value, unit) for key, value in listed)) if each)


def _growth(finding: Bottleneck) -> str:
    """`from 24 to 31 users goodput grew by 9.1% and latency by 294%`; empty unless both loads are known."""
    loads = (finding.users_before, finding.users_at)
    rates = (finding.offered_before_per_s, finding.offered_at_per_s)
    if None not in loads:
        between = f"from {numbers.users(loads[0])} to {numbers.counted(loads[1])}"
    elif rates[0] is not None and rates[1] is not None:
        between = f"from {quantities.offered_rate(rates[0])} to {quantities.offered_rate(rates[1])}"
    else:
        return ""
    grown = (("goodput", finding.goodput_growth_ratio), ("latency", finding.latency_growth_ratio))
    known = [(name, share) for name, share in grown if share is not None]
    sides = [f"{name} {'grew' if share >= 0 else 'fell'} by {numbers.percent(abs(share))}" for name, share in known]
    return f"{between} {' and '.join(sides)}" if sides else ""


def doubts(finding: Finding) -> str:
    """`alternative cause: connections are reset; could not be read: listen queue`."""
    if not isinstance(finding, Blame):
        return ""
    competing = ", ".join(map(name, finding.competing))
    unread = ", ".join(each.replace("_", " ") for each in finding.unavailable)
    sentence = (f"alternative cause: {competing}" if competing else "", f"could not be read: {unread}" if unread else "")
    return "; ".join(filter(None, sentence))


def _reading(key: str, value: Any, unit: str) -> str:
    if key == "little_ratio" and value:
        return f"responses and think time account for {1 / value:.0%} of the users' time (Little's law)"
    suffix = next((each for each in _SUFFIXES if key.endswith(each)), "")
    words = key.removesuffix(suffix if _is_number(value) else "").replace("_", " ")
    phrase = PHRASES.get(key, words if value is True else f"{words} {{}}")

    def shown(place: re.Match[str]) -> str:
        show = _SHOWN.get(place[1]) if _is_number(value) else None
        return _value(key, value, unit, suffix) if show is None else show(value)

    return _PLACE.sub(shown, phrase)


_PLACE = re.compile(r"\{(\w*)\}")
_SHOWN: Mapping[str, Callable[[Any], str]] = {
    "cores": lambda value: f"{numbers.percent(value)} of a core" if value <= 1 else f"{numbers.number(value)} cores",
    "moment": session_time,
    "number": numbers.number,
    "percent": numbers.percent,
    "users": numbers.counted,
}


def _value(key: str, value: Any, unit: str, suffix: str) -> str:
    """The value of a reading as text. `suffix`: that of its key, which names the unit."""
    if key == "grounds":
        return ", ".join(GROUNDS.get(each, each) for each in str(value).split(", "))
    if isinstance(value, str):
        is_ours = all(part.isidentifier() for part in value.split(", "))
        return value.replace("_", " ") if is_ours else value
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {numbers.figure(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(each).replace("_", " ") for each in value)
    if not _is_number(value) or key == "pid":
        return str(value)
    return _measured(key, value, unit, suffix)


def _measured(key: str, value: float, unit: str, suffix: str) -> str:
    """A number in the unit given by the suffix of its key."""
    if key.endswith("_growth_ratio"):
        return numbers.percent(value)
    if suffix == "_bytes" or (unit == "bytes" and key in IN_UNIT):
        return quantities.size(value)
    if suffix == "_ratio":
        return numbers.percent(value) if 0 <= value <= 1 else numbers.number(value)
    if suffix == "_s":
        return numbers.span(value) if value >= 100 else f"{numbers.number(value)} s"
    if suffix == "_ms":
        return quantities.latency(value)
    return quantities.rate(value) if suffix in _RATES else numbers.number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
