"""`export --format json`: unmeasured figures are null, and only current marks are listed. Its keys: `recorded_exports`."""

from __future__ import annotations

import json
from typing import Any

from kit.scenario import HEADER, Scenario

from capexplorer.model.events import Event, Note
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats.json import render
from capexplorer.report.summary import summarise

from .made_sessions import all_kinds_of_findings, finding


def summary(*events: Event) -> dict[str, Any]:
    """The exported JSON of a session with these events, as it is parsed."""
    document: dict[str, Any] = json.loads(render(summarise(Timeline([HEADER, *events]))))
    return document


def test_every_measured_figure_of_a_level_has_a_value() -> None:
    (exported,) = summary(*[*all_kinds_of_findings()][1:])["levels"]
    assert [key for key, value in exported.items() if value is None] == ["void", "offered", "service_state"], (
        "the level is valid and of users, not of a rate, and the service did not change; all other figures were measured"
    )
    assert (exported["kind"], exported["by"], exported["users"], exported["settled"]) == ("step", "plan", 10, True)
    assert isinstance(exported["ports_used"], int)
    assert isinstance(exported["target_rss_bytes"], int)


def test_an_unmeasured_figure_is_null_and_not_zero() -> None:
    (exported,) = summary(*Scenario(None, at_s=0.0).level(10, seconds=2, latency_ms=0.0).events)["levels"]
    measured = {
        "index", "epoch", "users", "by", "kind", "started_s", "settled_s", "ended_s", "settled", "requests", "failures",
        "failure_ratio", "failures_while_unsettled", "throughput_rps", "goodput_rps", "latency_ms", "endpoints",
        "held",
    }  # fmt: skip
    assert {key for key, value in exported.items() if value is not None} == measured
    assert set(exported["latency_ms"].values()) == {None}


def test_an_unsettled_level_has_no_rates_and_counts_its_failures_separately() -> None:
    (exported,) = summary(*Scenario(None, at_s=0.0).level(10, seconds=0, settling=1, failed=4).events)["levels"]
    assert exported["settled"] is False
    assert exported["settled_s"] is None
    assert (exported["requests"], exported["failures"], exported["failures_while_unsettled"]) == (0, 0, 4)
    rates = ("failure_ratio", "throughput_rps", "goodput_rps", "goodput_se_rps")
    assert {name: exported[name] for name in rates} == dict.fromkeys(rates)


def test_the_endpoints_of_a_session_are_sums_over_levels_and_ramps() -> None:
    made = Scenario(None, at_s=0.0).level(10, seconds=[{"failed": 2}, {}], latency_ms=0.0)
    made.open(5, ramp=True).seconds([{"rps": 3}, {"rps": 4}, {"rps": 5}], settled=False).close()
    found = summary(*made.events)
    assert found["endpoints"] == [{"name": "/", "method": "GET", "requests": 32, "failures": 2}]
    assert sum(each["requests"] for each in found["levels"]) == 32


def test_only_current_marks_are_listed_newest_last() -> None:
    found = summary(
        finding("cause", "a", 1.0),
        finding("cause", "b", 2.0),
        finding("cause", "gone", 3.0),
        finding("cause", "a", 4.0, "updated", 2, count=9),
        finding("cause", "gone", 5.0, "retracted", 2),
    )
    assert [(each["id"], each["count"]) for each in found["causes"]] == [("b", None), ("a", 9)]


def test_the_text_of_a_note_is_exported_unchanged() -> None:
    text = 'quotes " \\ [markup] \x1b[31m 🎉 ' + "\u2028"
    assert summary(Note(t_s=1.0, text=text))["notes"] == [{"t_s": 1.0, "text": text}]
