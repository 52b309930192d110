"""Causes, bottlenecks and leaks in exports: with evidence, example and advice; without secrets; redacted, without host names."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from marked import marked

from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import Ended, Event, FailureSignature, FailureTick, Mark, Sample, Verdict
from capexplorer.model.findings import MarkKind
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeVerdict
from capexplorer.report.compare import Session, compare
from capexplorer.report.compare import markdown as compare_markdown
from capexplorer.report.compare import page as compare_page
from capexplorer.report.compare.json import document
from capexplorer.report.formats import csv as csv_report
from capexplorer.report.formats import html, markdown
from capexplorer.report.redaction import redacted
from capexplorer.report.summary import summarise
from capexplorer.session.canonical import canonical

from .exported_sessions import HEADER, HOSTILE, session

PORTS = "ephemeral_port_exhaustion_time_wait"


def mark(id_: str, t_s: float, users: float, evidence: dict[str, Any], kind: MarkKind = "cause") -> Mark:
    return marked(
        t_s=t_s, key=f"{kind}:{id_}:epoch0", state="open", kind=kind, id=id_, users=users, severity=ENTRIES[id_].severity,
        confidence="high", evidence=evidence,
    )  # fmt: skip


def session_with_causes(example: str = "OSError, errno 99: Cannot assign requested address") -> list[Event]:
    """Three levels with a cause (ports run out at 50 users from 00:30 on), a bottleneck and a leak. `example`: of the cause."""
    *events, ended = session()
    assert isinstance(ended, Ended)
    counted = {"count": 412, "first_s": 30.0, "last_s": 36.5, "rate_per_s": 63.4}
    found = {"endpoints": {"GET /tasks/list": 400, "POST http://db7.corp.internal:18080/orders": 12}, "example": example}
    readings = {"ports_used": 1_998, "ports_capacity": 2_000, "time_wait": 1_996}
    doubts = {"unavailable": ["listen_queue"], "competing": ["connection_churn"]}
    return [
        *events,
        mark(PORTS, 36.5, 50, {**counted, **found, **readings, **doubts}),
        mark("gil_bound", 24.0, 20, {"target_cpu_ratio": 0.94}, "bottleneck"),
        mark("fd_leak", 30.0, 50, {"unit": "fds", "growth_per_hour": 7200.0, "limit_in_s": 240.0, "pid": 17}, "leak"),
        ended,
    ]


VERDICT = (
    "Limited by the generator's ephemeral ports (TIME_WAIT) from 00:30 at 50 users: results above 20 users do not "
    "describe the service."
)
SYSCTL = 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"'


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    """The timeline of `session_with_causes`."""
    return Timeline(session_with_causes())


def test_the_summary_lists_causes_with_evidence_and_advice(timeline: Timeline) -> None:
    found = summarise(timeline)
    assert found["verdict"] == VERDICT
    leak, cause = (next(each for each in found["causes"] if each["id"] == id_) for id_ in ("fd_leak", PORTS))
    assert cause["severity"] == "critical"
    assert {name: cause[name] for name in ("count", "first_s", "last_s", "users")} == {
        "count": 412, "first_s": 30.0, "last_s": 36.5, "users": 50,
    }  # fmt: skip
    assert cause["evidence"]["endpoints"]["GET /tasks/list"] == 400
    assert SYSCTL in cause["advice"]
    assert leak["evidence"]["growth_per_hour"] == 7200.0
    assert [(each["id"], each["confidence"]) for each in found["bottlenecks"]] == [("gil_bound", "high")]


def test_levels_limited_by_the_generator_do_not_count_for_the_knee() -> None:
    knee = KneeVerdict(kind="no_knee", users=50, users_high=50)
    curve = CurveFit(low_load_rps_per_user=2.0, low_load_se=0.1, baseline_users=(5.0,))
    found = Verdict(t_s=36.0, capacity=CapacityVerdict(knee=knee, curve=curve))
    healthy, invalid = (Timeline([*events[:-1], found, events[-1]]) for events in (session(), session_with_causes()))
    assert summarise(healthy)["no_knee_up_to_users"] == 50
    assert summarise(invalid)["no_knee_up_to_users"] == 20, "the level of 50 users ran out of ports"
    assert "| knee | none up to 20 | – | – | generator | – |" in markdown.render(invalid).decode()


def test_markdown_has_each_cause_with_location_evidence_example_and_command(timeline: Timeline) -> None:
    text = markdown.render(timeline).decode()
    assert f"**{VERDICT}**" in text
    assert "- generator: **cause: ephemeral ports exhausted (TIME_WAIT) at 50 users (high confidence)**: 412 × at 63.4/s" in text
    assert "00:30 to 00:36, GET /tasks/list 400, POST" in text
    assert (
        "ports used 1,998, ports capacity 2,000, time wait 1,996; alternative cause: a new connection for most requests" in text
    )
    assert "could not be read: listen queue" in text
    assert "  E.g. `OSError, errno 99: Cannot assign requested address`" in text
    assert f"`{SYSCTL}`" in text


def test_the_html_page_has_each_cause_with_evidence_example_and_command(timeline: Timeline) -> None:
    text = html.render(timeline).decode()
    for sentence in (
        VERDICT.replace("'", "&#39;"),
        "412 × at 63.4/s",
        "errno 99: Cannot assign",
        "<code>sysctl -w",
        '<li class="critical">',
    ):
        assert sentence in text


def test_causes_csv_has_a_line_for_each_cause_bottleneck_and_leak(timeline: Timeline) -> None:
    files = csv_report.render(timeline)
    assert set(files) == {"levels.csv", "endpoints.csv", "seconds.csv", "causes.csv"}
    lines = {line["id"]: line for line in csv.DictReader(io.StringIO(files["causes.csv"].decode(), newline=""))}
    assert set(lines) == {"ports_exhausted", PORTS, "gil_bound", "fd_leak"}
    assert {name: lines[PORTS][name] for name in ("where", "count", "rate_per_s", "first_s")} == {
        "where": "generator", "count": "412", "rate_per_s": "63.4", "first_s": "30.0",
    }  # fmt: skip
    assert lines["fd_leak"]["count"] == ""
    assert "growth per hour 7,200" in lines["fd_leak"]["readings"]


def test_a_hostile_example_is_inert_in_markdown_and_html() -> None:
    hostile = Timeline(session_with_causes(HOSTILE))
    page, text = html.render(hostile).decode(), markdown.render(hostile).decode()
    assert "<img src=x" not in page
    assert "\x1b" not in page + text
    example = next(line for line in text.splitlines() if line.startswith("  E.g. "))
    assert example.startswith("  E.g. ``")
    assert example.endswith("``")


def test_an_example_has_no_secrets_and_after_redaction_no_host_names() -> None:
    events = session_with_causes("GET http://ann:pw@db7.corp.internal/x?token=abc: Authorization: Bearer abcdef123=")
    recorded = [canonical(event) for event in events]
    assert not any(secret in markdown.render(Timeline(recorded)).decode() for secret in ("pw@", "abcdef123", "token=abc"))
    text = markdown.render(Timeline(redacted(recorded))).decode()
    assert "db7" not in text
    assert "GET /tasks/list 400" in text
    assert "/proc/17/fd" in text, "paths in the advice are not redacted: they are those of every system"


def test_failures_of_retried_requests_are_redacted() -> None:
    signature = FailureSignature(types=("OSError",), text="db7.corp.internal reset")
    retried = (FailureTick(name="http://db7.corp.internal:18080/x", method="GET", signature=signature, count=1),)
    tick = Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", retried=retried)
    *_, found = redacted([HEADER, tick])
    assert isinstance(found, Sample)
    assert "db7" not in str(found.retried)


def test_the_example_of_a_failure_is_in_the_page_and_is_redacted() -> None:
    signature = FailureSignature(types=("CatchResponseError",), text="lost_updates")
    example = "lost_updates: 90 at db7.corp.internal, 60 at 10.1.2.3, token=abc"
    failed = (FailureTick(name="/x", method="GET", signature=signature, count=1, example=example),)
    tick = Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", failures=failed)
    events = [canonical(event) for event in (HEADER, tick)]
    assert "e.g. lost_updates: 90 at db7.corp.internal, 60 at 10.1.2.3, token=***" in html.render(Timeline(events)).decode()
    page = html.render(Timeline(redacted(events))).decode()
    assert "lost_updates: 90 at redacted-host, 60 at redacted-address" in page
    assert "db7" not in page


def test_a_comparison_lists_the_marks_of_each_session_and_warns_of_invalid_results() -> None:
    comparison = compare([Session(Timeline(session())), Session(Timeline(session_with_causes()))])
    first, second = document(comparison)["sessions"]
    assert [each["id"] for each in first["marks"]] == ["ports_exhausted"]
    assert [(each["id"], each["users"], each["count"]) for each in second["marks"]][1:] == [
        (PORTS, 50, 412), ("gil_bound", 20, None), ("fd_leak", 50, None),
    ]  # fmt: skip
    assert second["verdict"] == VERDICT
    assert f"B: {VERDICT}" in document(comparison)["warnings"]
    text, page = compare_markdown.render(comparison).decode(), compare_page.render(comparison).decode()
    for sentence in (
        "ephemeral ports exhausted (TIME_WAIT) at 50 users, 412 ×",
        "the service's CPU is saturated (GIL) at 20 users",
    ):
        assert sentence in text
        assert sentence.replace("'", "&#39;") in page
