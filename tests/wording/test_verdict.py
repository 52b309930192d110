"""The verdict line: one sentence about a session, from its levels, its marks and the verdict about its knee."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from kit.scenario import HEADER

from capexplorer import wording
from capexplorer.model.events import Event, LevelClosed, Mark, Note, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation, RateCapacity, RateVerdict

from .judged_sessions import STARTED_AT, UP_TO_82, knee_verdict, levels, mark, verdict_sentence
from .verdict_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_each_case_has_its_verdict_line(name: str) -> None:
    events, expected = CASES[name]
    assert verdict_sentence(*events) == expected


@pytest.mark.parametrize("started_at", [STARTED_AT, "2026-01-01T03:59:00.000+00:00", ""])
def test_the_verdict_line_has_times_since_the_start_of_the_session(started_at: str) -> None:
    sentence = verdict_sentence(*UP_TO_82, mark("dns_failure", 82, 185.0), started_at=started_at)
    assert sentence.startswith("Limited by a name that does not resolve from 03:05 at 82 users")
    after_two_hours = verdict_sentence(*levels(10, since_s=7_200.0), mark("dns_failure", 10, 7_384.9), started_at=started_at)
    assert after_two_hours.startswith("Limited by a name that does not resolve from 2:03:04 at 10 users")


def test_the_verdict_line_of_an_earlier_epoch_names_the_epoch() -> None:
    timeline = Timeline([*UP_TO_82, knee_verdict("knee", 47), mark("server_error", 74, epoch=1)])
    assert wording.verdict(timeline, 0).startswith("Epoch 0: Knee at 47 users")


@pytest.mark.parametrize(
    ("findings", "severity", "rests_on_marks"),
    [
        ([knee_verdict("no_knee", 82), Note(t_s=1.0, text="x")], "info", False),
        ([mark("dns_failure")], "critical", True),
        ([mark("load_shedding")], "warning", True),
        ([knee_verdict("knee", 47)], "info", False),
        ([mark("think_time_limited")], "info", True),
        ([mark("think_time_limited"), mark("fd_leak")], "warning", True),
    ],
    ids=["no knee", "fault of the generator", "refused requests", "knee", "think time", "think time and a leak"],
)
def test_a_verdict_has_the_highest_severity_of_its_findings(findings: list[Event], severity: str, rests_on_marks: bool) -> None:
    judgement = wording.judgement(Timeline([*UP_TO_82, *findings]))
    assert judgement.severity == severity
    assert judgement.marked is rests_on_marks


@pytest.mark.parametrize(
    ("endpoint", "clause"),
    [
        (
            EndpointDegradation(method="GET", name="/search", users=60, column="latency", before=12.0, after=480.0),
            "; GET /search degrades first, from 60 users on: p95 12 → 480 ms, the other endpoints do not change",
        ),
        (
            EndpointDegradation(method="POST", name="/pay", users=60, column="failures", before=0.0, after=0.31),
            "; POST /pay degrades first, from 60 users on: failures 0% → 31%, the other endpoints do not change",
        ),
    ],
    ids=["slower", "failing"],
)
def test_the_verdict_line_names_the_endpoint_that_degrades_first(endpoint: EndpointDegradation, clause: str) -> None:
    verdict = msgspec.structs.replace(knee_verdict("knee", 47), first_endpoint=endpoint)
    assert clause in wording.verdict(Timeline([*levels(20, 40, 60, 80), verdict]))


def test_the_verdict_on_offered_rates_names_the_endpoint_that_degrades_first() -> None:
    first = EndpointDegradation(method="GET", name="/pay", users=120, column="latency", before=12.0, after=480.0, at_rates=True)
    for capacity in (RateCapacity(kind="capacity", per_s=100.0), RateCapacity(kind="departs", per_s=120.0)):
        verdict = Verdict(t_s=200.0, rates=RateVerdict(capacity=capacity, first_endpoint=first))
        sentence = wording.verdict(Timeline([*levels(20), verdict]))
        assert "; GET /pay degrades first, from 120/s offered on: p95 12 → 480 ms, the other" in sentence, capacity.kind


def test_the_endpoint_is_named_after_a_bottleneck_at_offered_rates_too() -> None:
    first = EndpointDegradation(method="GET", name="/pay", users=100, column="latency", before=83.0, after=727.0, at_rates=True)
    rates = RateVerdict(capacity=RateCapacity(kind="departs", per_s=138.0), first_endpoint=first)
    limit = msgspec.structs.replace(mark("lock_or_pool_limit"), offered_per_s=140.0)
    sentence = wording.verdict(Timeline([*levels(20), Verdict(t_s=200.0, rates=rates), limit]))
    assert "; GET /pay degrades first, from 100/s offered on: p95 83 → 727 ms" in sentence


def sentence_with(*marks: Mark) -> str:
    """The verdict line of a knee that failures cause, with these marks."""
    return wording.verdict(Timeline([*levels(20, 40, 60, 80), knee_verdict("knee", 47, "errors"), *marks]))


def test_a_rate_limiter_that_refuses_is_the_only_limit_that_is_named() -> None:
    refuses = mark("rate_limit", how="refuses", status=429, failure_ratio=0.5)
    sentence = sentence_with(refuses, mark("rate_limited", count=9))
    assert ": a rate limiter refuses requests (HTTP 429) (high confidence)" in sentence
    assert "the service limits the rate" not in sentence


def test_a_rate_limiter_that_delays_has_the_rate_that_it_allows() -> None:
    sentence = sentence_with(mark("rate_limit", how="delays", output_rps=100.02))
    assert ": a rate limiter delays requests to 100/s" in sentence


def test_levels_that_the_hypervisor_robbed_are_doubted() -> None:
    *others, last = UP_TO_82
    assert isinstance(last, LevelClosed)
    readings = {"host.cpu_ratio": 1.5, "host.steal_ratio": 0.45}
    closed = msgspec.structs.replace(last, figures=msgspec.structs.replace(last.figures, readings=readings))
    sentence = wording.verdict(Timeline([HEADER, *others, closed, knee_verdict("knee", 47)]))
    assert "; the hypervisor took up to 23% of the CPU (steal) at 82 users: results there may be too low." in sentence


def test_a_link_that_is_the_limit_has_its_rate() -> None:
    sentence = sentence_with(mark("network_bandwidth_saturated", bytes_per_s=2_505_000.0))
    assert ": the network link is the limit (20 Mbit/s)" in sentence


@pytest.mark.parametrize(
    ("limit", "known", "expected"),
    [
        ("lock_or_pool_limit", {}, "a lock or a pool inside or in front of the service is the limit"),
        ("lock_or_pool_limit", {"competing": ["rate_limit"]},
         "a lock, a pool or a rate limiter inside or in front of the service is the limit"),
        ("rate_limit", {"how": "delays", "output_rps": 46.2}, "a rate limiter or a network link delays requests to 46.2/s"),
    ],
)  # fmt: skip
def test_where_a_link_may_be_the_limit_the_place_is_left_open(limit: str, known: dict[str, Any], expected: str) -> None:
    assert f": {expected}" in sentence_with(mark(limit, **known, unavailable=["tcp.sending_sockets"]))


def test_a_limit_that_may_be_a_rate_limiter_names_the_alternatives() -> None:
    sentence = sentence_with(mark("lock_or_pool_limit", competing=["rate_limit"]))
    assert ": a lock, a pool or a rate limiter is the limit" in sentence
