"""`compare --fail-if`: conditions that fail, that pass with a message, and that cannot be judged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from capexplorer.errors import InputError
from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Comparison, SecondLatencies, Session, compare
from capexplorer.report.compare.fail_if import HELP, NAMES, Condition, Outcome, judge, parse

from . import simulated_rates
from .compared import LevelSpec, knee, overheads, session, timeline


def judged(text: str, before: Sequence[LevelSpec], after: Sequence[LevelSpec], *knees: Mark) -> Outcome:
    """The outcome of a condition on two sessions of these levels; `knees`: the mark of each, or none."""
    marks = knees or (None, None)
    sides = [timeline(levels, more=[mark] if mark else []) for levels, mark in zip((before, after), marks, strict=True)]
    return judge(parse(text), compare([Session(side) for side in sides]))


def is_passed(found: Outcome) -> bool:
    """Whether it passed without a message."""
    return bool(found.passed) and not (found.failed or found.unjudged or found.excused)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("knee<-5%", Condition("knee<-5%", "knee", "<", -0.05)),
        (" p95 @ 50 >= 10.5 % ", Condition("p95 @ 50 >= 10.5 %", "p95", ">=", 0.105, 50)),
        ("failure_ratio>+1%", Condition("failure_ratio>+1%", "failure_ratio", ">", 0.01)),
        ("p99@200/s>10%", Condition("p99@200/s>10%", "p99", ">", 0.1, per_s=200.0)),
        ("p99 @ 0.5 / s > 10%", Condition("p99 @ 0.5 / s > 10%", "p99", ">", 0.1, per_s=0.5)),
    ],
)
def test_a_condition_is_a_figure_an_operator_and_a_percentage(text: str, condition: Condition) -> None:
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("goodputt<-5%", "no figure `goodputt`; did you mean `goodput`?"),
        ("goodput<-5", "expected FIGURE"),
        ("goodput=5%", "expected FIGURE"),
        ("", "expected FIGURE"),
        ("p95@-5>1%", "expected FIGURE"),
        ("p95@0.5>1%", "expected FIGURE"),
        ("p95@50/m>1%", "expected FIGURE"),
        ("knee@50<-5%", "remove @50"),
        ("capacity@50/s<-5%", "remove @50/s"),
    ],
)
def test_an_invalid_condition_is_refused_with_the_expected_form(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        parse(text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_the_help_names_every_figure_and_operator() -> None:
    assert all(name in HELP.replace("\n", " ") for name in (*NAMES, "< <= > >="))


def test_a_decrease_beyond_the_limit_and_the_noise_fails_and_names_the_user_count() -> None:
    found = judged("goodput<-5%", [LevelSpec(10), LevelSpec(50)], [LevelSpec(10), LevelSpec(50, 80.0)])
    (line,) = found.failed
    assert line == "goodput<-5%: B against A: holds at 50 users: 100.0 to 80.0/s (-20.0%), worse, beyond noise"
    assert is_passed(judged("goodput@10<-5%", [LevelSpec(10), LevelSpec(50)], [LevelSpec(10), LevelSpec(50, 80.0)]))


def test_a_change_beyond_the_limit_but_within_noise_passes_with_a_message() -> None:
    found = judged("goodput<-5%", [LevelSpec(10, 100.0, 10.0)], [LevelSpec(10, 90.0, 10.0)])
    assert found.failed == ()
    assert found.unjudged == ()
    (message,) = found.excused
    assert "does not count at 10 users" in message
    assert "within noise" in message


def test_a_difference_caused_by_the_client_does_not_fail() -> None:
    slow = session([LevelSpec(50, mean_ms=2.0, mean_se_ms=0.02, p50_ms=2.0)], client_overhead_ms=overheads(HttpUser=1.9))
    fast = session([LevelSpec(50, mean_ms=0.9, mean_se_ms=0.008, p50_ms=0.9)], client_overhead_ms=overheads(FastHttpUser=0.5))
    found = judge(parse("p50>5%"), compare([fast, slow]))
    assert not found.failed
    assert "client overhead" in found.excused[0]


def test_a_difference_that_the_client_may_explain_in_part_cannot_be_judged() -> None:
    slow = session([LevelSpec(50, mean_ms=4.0, mean_se_ms=0.02, p50_ms=4.0)], client_overhead_ms=overheads(HttpUser=1.9))
    fast = session([LevelSpec(50, mean_ms=0.9, mean_se_ms=0.008, p50_ms=0.9)], client_overhead_ms=overheads(FastHttpUser=0.5))
    found = judge(parse("p50>5%"), compare([fast, slow]))
    assert (found.failed, found.excused) == ((), ())
    assert "partly client" in found.unjudged[0]


@pytest.mark.parametrize(
    ("text", "after", "sentence"),
    [
        ("goodput<-5%", [LevelSpec(10, 80.0, None)], "cannot be judged at 10 users: 100.0 to 80.0/s (-20.0%), noise unknown"),
        ("goodput<-5%", [LevelSpec(10, None, None)], "cannot be judged: goodput was not measured in B"),
        ("knee<-5%", [LevelSpec(10)], "cannot be judged: knee was not measured in A and B"),
        ("p95@50>1%", [LevelSpec(10)], "cannot be judged: 50 users is no settled level in common"),
        ("p95>1%", [LevelSpec(20)], "cannot be judged: no load in common"),
    ],
)
def test_a_condition_on_unmeasured_figures_cannot_be_judged(text: str, after: Sequence[LevelSpec], sentence: str) -> None:
    found = judged(text, [LevelSpec(10)], after)
    assert not found.failed
    assert sentence in found.unjudged[0]


def test_knees_are_judged_by_their_intervals_and_capacities_by_their_errors() -> None:
    marks = knee(60, 120.0, users_low=55, users_high=65), knee(45, 90.0, users_low=42, users_high=48)
    assert judged("knee<-5%", [LevelSpec(10)], [LevelSpec(10)], *marks).failed
    assert judged("capacity<-5%", [LevelSpec(10)], [LevelSpec(10)], *marks).unjudged, "these capacities have no errors"
    assert is_passed(judged("knee<-50%", [LevelSpec(10)], [LevelSpec(10)], *marks))


@cache
def rates() -> Comparison:
    """Two sessions of rates only: the second service completes 80 instead of 100 a second."""
    return compare([Session(*session_at(100)), Session(*session_at(80))])


def session_at(capacity: float) -> tuple[Timeline, None, None, int, SecondLatencies]:
    recorded, latencies = simulated_rates.session(capacity)
    return recorded, None, None, 0, latencies


def test_a_condition_on_a_rate_is_judged_at_that_rate_alone() -> None:
    (line,) = judge(parse("goodput@160/s<-5%"), rates()).failed
    assert line.startswith("goodput@160/s<-5%: B against A: holds at 160/s: ")
    assert line.endswith("worse, beyond noise")
    assert not judge(parse("goodput@40/s<-5%"), rates()).failed


def test_without_a_load_a_condition_is_judged_at_every_common_rate() -> None:
    (line,) = judge(parse("goodput<-5%"), rates()).failed
    assert "holds at 160/s" in line


def test_the_capacity_of_a_condition_is_that_as_a_rate_where_both_sessions_have_one() -> None:
    halved = compare([Session(*session_at(100)), Session(*session_at(50))])
    (line,) = judge(parse("capacity<-5%"), halved).failed
    assert line.startswith("capacity<-5%: B against A: holds as a rate: ")
    assert is_passed(judge(parse("capacity>5%"), halved))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("p99@200/s>10%", "cannot be judged: 200/s is no settled rate in common"),
        ("p99@40>10%", "cannot be judged: 40 users is no settled level in common"),
        ("knee<-5%", "cannot be judged: knee was not measured in A and B"),
    ],
)
def test_a_condition_on_a_load_that_sessions_of_rates_lack_cannot_be_judged(text: str, sentence: str) -> None:
    found = judge(parse(text), rates())
    assert not found.failed
    assert sentence in found.unjudged[0]


def test_a_capacity_as_a_rate_that_one_session_lacks_cannot_be_judged() -> None:
    comparison = compare([Session(*session_at(100)), Session(*session_at(1000))])  # the second keeps up at all rates
    (line,) = judge(parse("capacity<-5%"), comparison).unjudged
    assert "capacity was not measured in B" in line
