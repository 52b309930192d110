"""Causes, bottlenecks and leaks in exports: with evidence, example and advice; without secrets; redacted, without host names."""

from __future__ import annotations

from capexplorer.model.events import FailureSignature, FailureTick, Sample
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import html, markdown
from capexplorer.report.redaction import redacted
from capexplorer.report.summary import summarise
from capexplorer.session.canonical import canonical

from .exported_sessions import HEADER, HOSTILE, session
from .made_sessions import with_causes, without_a_knee_up_to_50


def test_levels_limited_by_the_generator_do_not_count_for_the_knee() -> None:
    healthy, limited = (Timeline(without_a_knee_up_to_50(events)) for events in (session(), with_causes()))
    assert [summarise(each)["no_knee_up_to_users"] for each in (healthy, limited)] == [50, 20]


def test_a_hostile_example_is_inert_in_markdown_and_html() -> None:
    hostile = Timeline(with_causes(HOSTILE))
    page, text = html.render(hostile).decode(), markdown.render(hostile).decode()
    assert "<img src=x" not in page
    assert "\x1b" not in page + text
    example = next(line for line in text.splitlines() if line.startswith("  E.g. "))
    assert example.startswith("  E.g. ``")
    assert example.endswith("``")


def test_an_example_has_no_secrets_and_after_redaction_no_host_names() -> None:
    events = with_causes("GET http://ann:pw@db7.corp.internal/x?token=abc: Authorization: Bearer abcdef123=")
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
