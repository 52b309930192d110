"""`export --format json`: it has exactly the documented keys (docs/exports.md), and unmeasured figures are null."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from kit.scenario import HEADER
from marked import marked
from session.samples import busy_sample

from capexplorer.model.events import Ended, EndpointTick, Event, LevelClosed, LevelOpened, Mark, Note, Sample
from capexplorer.model.level import LevelFold, RampFold
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats.json import render
from capexplorer.report.summary import summarise

# The keys of each object of the JSON, as docs/exports.md lists them.
DOCUMENT = {
    "schema", "session", "levels", "endpoints", "knees", "no_knee_up_to_users", "rates", "causes", "bottlenecks", "slo",
    "recoveries", "shifts", "regimes", "stop_rules", "notes", "verdict", "verdicts", "conventions",
    "first_endpoint",
}  # fmt: skip
SESSION = {
    "id", "label", "started_at", "duration_s", "profile", "target", "complete", "engine", "clients", "client_floor_ms",
    "requests_file",
}  # fmt: skip
LEVEL = {
    "index", "epoch", "users", "by", "kind", "started_s", "settled_s", "ended_s", "settled", "requests", "failures",
    "failure_ratio", "failures_while_unsettled", "throughput_rps", "goodput_rps", "goodput_se_rps", "latency_ms", "endpoints",
    "target_cpu_ratio", "target_rss_bytes", "host_cpu_ratio", "load_average_1m", "generator_cpu_ratio", "loop_lag_p99_ms",
    "received_bytes_per_s", "sent_bytes_per_s", "open_sockets", "disk_busy_ratio", "ports_used", "ports_capacity",
    "others_cpu_ratio", "other_processes", "target_run_delay_ratio", "generator_run_delay_ratio", "cpu_pressure_ratio",
    "steal_ratio", "held",
    "warm_ratio", "think_s", "requests_per_task", "task_s", "void", "offered", "service_state",
}  # fmt: skip
LATENCY = {"min", "mean", "p50", "p90", "p95", "p99", "p999", "max"}
LEVEL_ENDPOINT = {"name", "method", "requests", "failures", "goodput_rps", "leaves_first", "mean_bytes", "latency_ms"}
ENDPOINT = {"name", "method", "requests", "failures"}
KNEE = {"kind", "epoch", "users", "users_low", "users_high", "capacity_rps", "limit", "confidence", "evidence"}
CAUSE = {"epoch", "id", "severity", "count", "first_s", "last_s", "users", "offered_per_s", "evidence", "advice"}
BOTTLENECK = {"epoch", "id", "users", "offered_per_s", "confidence", "evidence", "advice"}


def level(index: int, users: int, samples: list[Sample], *, ramp: bool = False, closed: bool = True) -> list[Event]:
    """The opening of a level, its seconds, and its closing if it is closed."""
    first_s, last_s = samples[0].t_s - 1, samples[-1].t_s
    opened = LevelOpened(t_s=first_s, index=index, users=users, spawn_rate=1.0, by="plan", ramp=ramp)
    fold, bins = LevelFold(), RampFold()
    for sample in samples:
        fold.add(sample)
        bins.add(sample)
    end = LevelClosed(
        t_s=last_s, index=index, users=users, started_s=first_s, settled_s=fold.settled_s, figures=fold.figures(),
        endpoints=fold.merged.endpoint_figures(with_histogram=True), bins=bins.bins(with_histogram=True) if ramp else (),
    )  # fmt: skip
    return [opened, *samples, *([end] if closed else [])]


def sample(t_s: float, index: int = 0, requests: int = 10, failures: int = 0, settled: bool = True, users: int = 10) -> Sample:
    """A second with requests and without readings."""
    return Sample(
        t_s=t_s, duration_s=1.0, level=index, users=users, wanted=users, settled=settled, work=float(requests - failures),
        phase="settled" if settled else "settling",
        endpoints=(EndpointTick(name="/a", method="GET", requests=requests, failures=failures),),
    )  # fmt: skip


def sample_with_all_readings(t_s: float) -> Sample:
    """A second in which everything was measured."""
    return msgspec.structs.replace(busy_sample(t_s, seed=int(t_s)), t_s=t_s, duration_s=1.0, level=0)


def mark(kind: str, key: str, t_s: float, state: str = "open", revision: int = 1, **evidence: object) -> Mark:
    return marked(t_s=t_s, key=key, revision=revision, state=state, kind=kind, id=key, users=50, evidence=evidence)


def summary(*events: Event) -> dict[str, Any]:
    """The exported JSON of a session with these events, as it is parsed."""
    document: dict[str, Any] = json.loads(render(summarise(Timeline([HEADER, *events]))))
    return document


ALL_KINDS_OF_FINDINGS = (
    *level(0, 10, [sample_with_all_readings(float(t)) for t in range(1, 9)]),
    Note(t_s=3.0, text="deployed"),
    mark("knee", "knee:0", 4.0, users_low=40, users_high=60, capacity_rps=123.4, limit="queueing", top_slope=0.9),
    mark("cause", "cause:refused", 5.0, count=3, first_s=1.0, last_s=4.5, errno=111),
    mark("bottleneck", "bottleneck:gil", 6.0, threads=5),
    mark("recovery", "recovery:0", 7.0, from_users=100, to_users=50, recovered=True, after_s=3.0),
    mark("shift", "shift:0", 7.0, before=170, after=120),
    mark("stop_rule", "stop:0", 7.0, rule="p95_ms"),
    Ended(t_s=9.0, reason="plan finished"),
)


def test_the_document_has_exactly_the_documented_keys() -> None:
    found = summary(*ALL_KINDS_OF_FINDINGS)
    assert set(found) == DOCUMENT
    assert found["schema"] == "capexplorer.summary/1"
    assert set(found["session"]) == SESSION
    assert set(found["session"]["engine"]) == {"mode", "workers"}
    assert all(set(each) == {"p50", "p99"} for each in found["session"]["client_floor_ms"].values())
    (exported,) = found["levels"]
    assert set(exported) == LEVEL
    assert set(exported["latency_ms"]) == LATENCY
    assert exported["endpoints"]
    assert all(set(each) == LEVEL_ENDPOINT and set(each["latency_ms"]) == LATENCY for each in exported["endpoints"])
    assert all(set(each) == ENDPOINT for each in found["endpoints"])
    assert [set(each) for each in found["knees"]] == [KNEE]
    assert [set(each) for each in found["causes"]] == [CAUSE]
    assert [set(each) for each in found["bottlenecks"]] == [BOTTLENECK]
    assert [set(each) for each in found["notes"]] == [{"t_s", "text"}]
    assert [set(each) for each in found["recoveries"]] == [{"epoch", "from_users", "to_users", "recovered", "after_s"}]
    assert isinstance(found["verdict"], str)


def test_every_measured_figure_of_a_level_has_a_value() -> None:
    (exported,) = summary(*ALL_KINDS_OF_FINDINGS)["levels"]
    assert [key for key, value in exported.items() if value is None] == ["void", "offered", "service_state"], (
        "the level is valid and of users, not of a rate, and the service did not change; all other figures were measured"
    )
    assert (exported["kind"], exported["by"], exported["users"], exported["settled"]) == ("step", "plan", 10, True)
    assert isinstance(exported["ports_used"], int)
    assert isinstance(exported["target_rss_bytes"], int)


def test_the_document_of_an_empty_session_has_all_keys_with_empty_values() -> None:
    found = summary()
    assert set(found) == DOCUMENT
    objects_or_null = {"no_knee_up_to_users", "first_endpoint", "rates"}
    lists = DOCUMENT - {"schema", "conventions", "session", "verdict", "verdicts"} - objects_or_null
    assert {key: found[key] for key in objects_or_null} == dict.fromkeys(objects_or_null)
    assert {key: found[key] for key in lists} == {key: [] for key in lists}
    assert found["session"]["complete"] is False
    assert found["verdict"] == "No level settled: the capacity is unknown."


def test_an_unmeasured_figure_is_null_and_not_zero() -> None:
    (exported,) = summary(*level(0, 10, [sample(1.0), sample(2.0)]))["levels"]
    measured = {
        "index", "epoch", "users", "by", "kind", "started_s", "settled_s", "ended_s", "settled", "requests", "failures",
        "failure_ratio", "failures_while_unsettled", "throughput_rps", "goodput_rps", "latency_ms", "endpoints",
        "held",
    }  # fmt: skip
    assert {key for key, value in exported.items() if value is not None} == measured
    assert set(exported["latency_ms"].values()) == {None}


def test_an_unsettled_level_has_no_rates_and_counts_its_failures_separately() -> None:
    (exported,) = summary(*level(0, 10, [sample(1.0, failures=4, settled=False)]))["levels"]
    assert exported["settled"] is False
    assert exported["settled_s"] is None
    assert (exported["requests"], exported["failures"], exported["failures_while_unsettled"]) == (0, 0, 4)
    rates = ("failure_ratio", "throughput_rps", "goodput_rps", "goodput_se_rps")
    assert {name: exported[name] for name in rates} == dict.fromkeys(rates)


def test_a_level_without_its_closing_ends_with_the_last_event() -> None:
    found = summary(*level(0, 10, [sample(1.0), sample(2.0)], closed=False), Note(t_s=2.5, text="the last event"))
    assert (found["levels"][0]["requests"], found["levels"][0]["ended_s"]) == (20, 2.5)
    assert found["session"]["complete"] is False


def test_a_ramp_has_an_entry_for_each_bin() -> None:
    samples = [sample(float(t), users=t, settled=False, requests=t) for t in range(1, 4)]
    found = summary(*level(0, 3, samples, ramp=True))
    assert [(each["kind"], each["index"], each["users"], each["throughput_rps"]) for each in found["levels"]] == [
        ("ramp", 0, 1, 1.0), ("ramp", 0, 2, 2.0), ("ramp", 0, 3, 3.0),
    ]  # fmt: skip
    assert all(set(each) == LEVEL for each in found["levels"])


def test_the_endpoints_of_a_session_are_sums_over_levels_and_ramps() -> None:
    samples = [sample(float(t), index=1, users=t, settled=False, requests=t) for t in range(3, 6)]
    found = summary(*level(0, 10, [sample(1.0, failures=2), sample(2.0)]), *level(1, 5, samples, ramp=True))
    assert found["endpoints"] == [{"name": "/a", "method": "GET", "requests": 32, "failures": 2}]
    assert sum(each["requests"] for each in found["levels"]) == 32


def test_only_current_marks_are_listed_newest_last() -> None:
    found = summary(
        mark("cause", "a", 1.0),
        mark("cause", "b", 2.0),
        mark("cause", "gone", 3.0),
        mark("cause", "a", 4.0, "updated", 2, count=9),
        mark("cause", "gone", 5.0, "retracted", 2),
    )
    assert [(each["id"], each["count"]) for each in found["causes"]] == [("b", None), ("a", 9)]


def test_the_figures_of_a_knee_are_listed_with_its_evidence() -> None:
    (knee,) = summary(*ALL_KINDS_OF_FINDINGS)["knees"]
    assert (knee["kind"], knee["users"], knee["users_low"], knee["users_high"], knee["limit"]) == ("knee", 50, 40, 60, "queueing")
    assert knee["evidence"] == {"soft": False, "provisional": True, "top_slope": 0.9}


@pytest.mark.parametrize("knee", ["knee", "at_or_below", "bend", "latency_knee"])
def test_every_kind_of_knee_is_listed(knee: str) -> None:
    assert [each["kind"] for each in summary(mark(knee, "k", 1.0))["knees"]] == [knee]


def test_the_same_events_give_the_same_bytes() -> None:
    assert render(summarise(Timeline([HEADER, *ALL_KINDS_OF_FINDINGS]))) == render(
        summarise(Timeline(iter([HEADER, *ALL_KINDS_OF_FINDINGS])))
    )


def test_the_text_of_a_note_is_exported_unchanged() -> None:
    text = 'quotes " \\ [markup] \x1b[31m 🎉 ' + "\u2028"
    assert summary(Note(t_s=1.0, text=text))["notes"] == [{"t_s": 1.0, "text": text}]
