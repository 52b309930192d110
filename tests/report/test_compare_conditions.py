"""Comparing sessions under different conditions: client classes, machines, versions, waits and requests."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from capexplorer.model.events import HostFacts, Target, TargetFacts
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Comparison, Session, compare, json, markdown, page, sentences
from capexplorer.report.compare.difference import overhead_difference
from capexplorer.report.compare.estimates import Estimate

from .compared import HOST, USERS, LevelSpec, overheads, session, timeline


def compared(*timelines: Timeline) -> Comparison:
    """The comparison of sessions that have figures of levels and no seconds."""
    return compare([Session(each) for each in timelines])


@pytest.mark.parametrize(
    ("change_ms", "overhead_change_ms", "judgement"),
    [
        (-1.3, -1.3, "client"),  # measured: HttpUser and FastHttpUser with one server
        (-1.0, -1.3, "client"),
        (-1.35, -1.3, "client"),  # the rest is within noise
        (-2.0, -1.3, "partly_client"),  # under load a client's overhead is higher than without
        (-1.9, -0.2, "beyond"),  # but not nine times as high
        (1.0, -1.3, "beyond"),  # higher, although the client's overhead is lower
        (-1.3, None, "unknown"),
        (-0.01, -1.3, "within"),
    ],
)
def test_the_overhead_of_client_classes_is_attributed_to_the_client(
    change_ms: float, overhead_change_ms: float | None, judgement: str
) -> None:
    before, after = Estimate(2.22, 0.05), Estimate(2.22 + change_ms, 0.05)
    assert overhead_difference("mean", before, after, overhead_change_ms).judgement == judgement


def test_a_lower_latency_by_a_client_with_less_overhead_is_attributed_to_the_client() -> None:
    slow = session([LevelSpec(50, 49.3, mean_ms=2.22, p50_ms=2.2)], client_overhead_ms=overheads(HttpUser=1.9))
    fast = session([LevelSpec(50, 48.6, mean_ms=0.93, p50_ms=0.9)], client_overhead_ms=overheads(FastHttpUser=0.5))
    found = compare([slow, fast])
    level = found.pairs[0].levels[0]
    assert {level[name].judgement for name in ("mean", "p50", "p95", "p99")} == {"client"}
    assert not any(one.counts for one in level.differences)
    assert (
        "the difference in latency is caused by the client (FastHttpUser instead of HttpUser), not by the target"
        in sentences.verdict(found)
    )
    assert any("by itself FastHttpUser costs 1.4 ms less at the median" in warning for warning in sentences.warnings(found))


def test_a_client_class_of_unknown_overhead_is_listed_among_the_conditions() -> None:
    fast = timeline([LevelSpec(50, 49.3, mean_ms=2.2, mean_se_ms=0.02)], client_overhead_ms=overheads(FastHttpUser=0.5))
    mixed = timeline(
        [LevelSpec(50, 48.6, mean_ms=0.9, mean_se_ms=0.01)],
        clients=("FastHttpUser", "User"),
        client_overhead_ms=overheads(FastHttpUser=0.5),
    )
    found = compared(fast, mixed)
    row = next(row for row in found.conditions if row.name == "client")
    assert row.values == ("fast (FastHttpUser)", "fast (FastHttpUser) + other (User)")
    assert found.pairs[0].levels[0]["mean"].overhead_change_ms is None  # the overhead of User was not measured


def test_sessions_under_the_same_conditions_have_no_warning() -> None:
    found = compared(
        timeline([LevelSpec(10)]),
        timeline([LevelSpec(10)], id="b", host=msgspec.structs.replace(HOST, memory_bytes=8_590_000_000)),
    )
    assert found.conditions == ()
    assert found.subject == ()
    assert sentences.warnings(found) == []


def test_conditions_that_differ_are_warned_about_and_named_in_the_verdict() -> None:
    host = HostFacts(name="two", cpus=4, memory_bytes=16 << 30, fds_limit=2048, port_range=(1024, 60999))
    profile = {"name": "mixed", "users": {**USERS, "wait_s": {"constant": 1.0}, "task": [{"name": "/", "weight": 2}]}}
    other = timeline([LevelSpec(10, 200.0)], host=host, versions={"capexplorer": "1", "locust": "3"}, profile=profile)
    found = compared(timeline([LevelSpec(10)]), other)
    assert {row.name: row.values for row in found.conditions} == {
        "host": ("one", "two"),
        "cores": ("2", "4"),
        "memory": ("8 GiB", "16 GiB"),
        "file descriptors": ("1024", "2048"),
        "port range": ("32768-60999", "1024-60999"),
        "wait": ("between 0.1-0.5", "constant 1"),
        "requests and weights": ("GET / x1", "GET / x2"),
        "version of locust": ("2", "3"),
    }
    assert sentences.warnings(found)[0].startswith("Conditions differ (host, cores, ")
    assert "so the target may not be the cause" in sentences.verdict(found)


def test_label_profile_and_requests_may_differ_without_a_warning() -> None:
    other = timeline([LevelSpec(10)], label="new", profile={"name": "io", "users": {**USERS, "task": [{"name": "/io"}]}})
    found = compared(timeline([LevelSpec(10)], label="old"), other)
    assert found.conditions == ()
    assert [row.name for row in found.subject] == ["label", "profile", "requests and weights"]


# -- what differs between the sessions


def started(
    *command: str, port: int = 31289, params: dict[str, str | int | float | bool] | None = None, version: str | None = None
) -> Timeline:
    """A session of a target that was started by this command."""
    target = TargetFacts(name="shop", url=f"http://127.0.0.1:{port}", command=command, params=params or {}, version=version)
    return timeline([LevelSpec(10)], target=target)


def answered(version: str) -> Timeline:
    """A session of a target that named its version when it became ready."""
    found = started("app")
    found.apply(Target(t_s=0.5, state="ready", version=version))
    return found


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (
            started("app", "--port", "31289"),
            started("app", "--port", "17704", "--pool", "4", port=17704),
            ("without --pool 4", "--pool 4"),
        ),
        (started("app", "--pool", "2"), started("app", "--pool", "4"), ("--pool 2", "--pool 4")),
        (started("app", "--fast"), started("app"), ("--fast", "without --fast")),
        (started("app", "2", params={"n": 2}), started("app", "4", params={"n": 4}), ("n 2", "n 4")),
        (started("app", version="1.0"), started("app", version="1.1"), ("version 1.0", "version 1.1")),
        (answered("1.0"), answered("1.1"), ("version 1.0", "version 1.1")),
        (timeline([], label="old"), timeline([], label="new"), ("old", "new")),
        (timeline([], label="x" * 40), timeline([], label="new"), ("x" * 31 + "…", "new")),
        (
            timeline([], client_overhead_ms=overheads(HttpUser=1.9)),
            timeline([], client_overhead_ms=overheads(FastHttpUser=0.5)),
            ("HttpUser", "FastHttpUser"),
        ),
        (started("app", "--port", "31289"), started("app", "--port", "17704", port=17704), ("", "")),
    ],
    ids=["more", "another-value", "less", "parameter", "version", "answered-version", "label", "long-label", "client", "port"],
)
def test_each_session_is_named_by_what_distinguishes_it(before: Timeline, after: Timeline, names: tuple[str, str]) -> None:
    found = compared(before, after)
    expected = [f"{letter} ({name})" if name else letter for letter, name in zip("AB", names, strict=True)]
    assert [curve.named for curve in found.curves] == expected


@pytest.mark.parametrize("render", [markdown.render, page.render, json.render])
def test_what_differs_is_in_headline_and_table_of_every_format(render: Callable[[Comparison], bytes]) -> None:
    content = render(compared(started("app", "--pool", "2"), started("app", "--pool", "4"))).decode()
    assert "B (--pool 4)" in content
    assert "app --pool 2" in content
    assert "app --pool 4" in content
