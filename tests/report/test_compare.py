"""Comparing sessions: what is matched, what counts as a difference, and what is never claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import pytest

from capexplorer.errors import InputError
from capexplorer.model.events import HostFacts, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict
from capexplorer.report.compare import Comparison, Session, compare, sentences
from capexplorer.report.compare.difference import difference, overhead_difference
from capexplorer.report.compare.estimates import Estimate, pooled
from trials.marked import marked

from .compared import HOST, USERS, Seen, knee, overheads, session, timeline


def compared(*timelines: Timeline) -> Comparison:
    return compare([Session(each) for each in timelines])


# -- what counts


@pytest.mark.parametrize(
    ("before", "after", "judgement"),
    [
        (Estimate(100.0, 1.0), Estimate(104.0, 1.0), "beyond"),  # 1.96 sqrt(1 + 1 + 1 + 1), each run's own 1% included, is 3.92
        (Estimate(100.0, 1.0), Estimate(95.9, 1.0), "beyond"),
        (Estimate(100.0, 1.0), Estimate(103.8, 1.0), "within"),
        (Estimate(100.0, 1.0, degrees=3), Estimate(104.0, 1.0, degrees=3), "within"),  # roughly known errors: Student's t
        (Estimate(100.0, 0.1), Estimate(102.5, 0.1), "within"),  # far beyond its errors, but equal runs differ by as much
        (Estimate(100.0, None), Estimate(900.0, 1.0), "unknown"),
        (Estimate(100.0, 1.0), Estimate(900.0, None), "unknown"),
        (Estimate(None), Estimate(900.0, 1.0), "not_measured"),
        (Estimate(0.0, 0.001), Estimate(0.5, 0.001), "beyond"),
        (Estimate(0.0, 0.0), Estimate(0.0, 0.0), "within"),
    ],
)
def test_a_difference_counts_beyond_both_its_noise_and_two_per_cent(before: Estimate, after: Estimate, judgement: str) -> None:
    assert difference("goodput", before, after).judgement == judgement


def test_a_difference_has_its_change_its_ratio_and_its_noise() -> None:
    one = difference("p95", Estimate(200.0, 3.0), Estimate(250.0, 4.0))
    assert (one.change, one.ratio, one.better) == (50.0, 0.25, False)
    assert one.noise == pytest.approx(1.96 * math.sqrt(3**2 + 4**2 + 6**2 + 7.5**2), rel=0.001)  # 3% of each from run to run
    assert difference("goodput", Estimate(1.0, 0.1), Estimate(2.0, 0.1)).better is True
    assert difference("throughput", Estimate(1.0, 0.1), Estimate(2.0, 0.1)).better is None
    assert difference("goodput", Estimate(0.0, 0.1), Estimate(2.0, 0.1)).ratio is None
    assert difference("goodput", None, Estimate(2.0, 0.1)).change is None


def test_levels_whose_figures_cover_a_part_of_their_users_are_not_compared() -> None:
    levels = [Seen(5), Seen(10, goodput_rps=40.0)]
    found = Verdict(t_s=30.0, capacity=CapacityVerdict(), partial_levels=(1,))
    one, other = compared(timeline(levels, more=[found]), timeline(levels)).curves
    assert [point.users for point in one.points] == [5]
    assert [point.users for point in other.points] == [5, 10]


# -- pooling


def test_equal_counts_are_pooled_by_inverse_variance() -> None:
    found = pooled([Estimate(100.0, 1.0), Estimate(101.0, 2.0)])
    assert found.value == pytest.approx((100 + 101 / 4) / 1.25)
    assert found.se == pytest.approx(math.sqrt(1 / 1.25))


def test_levels_that_disagree_beyond_their_errors_are_as_uncertain_as_they_disagree() -> None:
    found = pooled([Estimate(100.0, 1.0), Estimate(140.0, 1.0)])
    assert found.value == 120.0
    assert found.se == pytest.approx(20.0)


def test_a_level_without_an_error_counts_only_where_none_has_one() -> None:
    assert pooled([Estimate(100.0, 1.0), Estimate(500.0, None)]) == Estimate(100.0, 1.0)
    assert pooled([Estimate(100.0, None, 1.0), Estimate(200.0, None, 3.0)]) == Estimate(175.0, None, 4.0)
    assert pooled([Estimate(None), Estimate(None)]) == Estimate()


def test_an_error_of_zero_does_not_outweigh_everything() -> None:
    found = pooled([Estimate(100.0, 0.0, 6.0), Estimate(110.0, 2.0, 6.0)])
    assert found.value == pytest.approx(105.0)
    assert found.se is not None and found.se > 1.0


# -- levels


def test_equal_user_counts_are_matched_and_others_are_listed() -> None:
    (pair,) = compared(timeline([Seen(10), Seen(50)]), timeline([Seen(50), Seen(20), Seen(100)])).pairs
    assert [level.users for level in pair.levels] == [50]
    assert (pair.only_before, pair.only_after) == ((10,), (20, 100))


def test_ramps_levels_without_users_and_levels_that_never_settled_are_not_matched() -> None:
    levels = [Seen(0), Seen(10), Seen(20, settled=False), Seen(30, ramp=True)]
    found = compared(timeline(levels), timeline(levels))
    assert [level.users for level in found.pairs[0].levels] == [10]
    assert found.curves[0].unsettled == (20, 30)


def test_every_figure_of_a_level_is_compared() -> None:
    (pair,) = compare([session([Seen(10, 100.0)]), session([Seen(10, 110.0, p50_ms=20.0, mean_ms=20.0)])]).pairs
    sentence = {one.figure: one.judgement for one in pair.levels[0].differences}
    assert sentence == {
        "goodput": "beyond",
        "throughput": "within",
        "mean": "beyond",
        "p50": "beyond",
        "p95": "beyond",
        "p99": "beyond",
        "failure_ratio": "within",
        "target_cpu": "not_measured",
    }


def test_what_has_no_seconds_has_recorded_errors_or_none() -> None:
    (pair,) = compared(timeline([Seen(10, 100.0)]), timeline([Seen(10, 110.0, p50_ms=20.0, mean_ms=20.0)])).pairs
    sentence = {one.figure: one.judgement for one in pair.levels[0].differences}
    assert {sentence["goodput"], sentence["mean"]} == {"beyond"}
    assert {sentence[name] for name in ("throughput", "p50", "p95", "p99", "failure_ratio")} == {"unknown"}


def test_a_percentile_of_too_few_values_is_quiet_and_of_unknown_noise() -> None:
    few = session([Seen(10, failures=1_900)])
    (pair,) = compare([few, few]).pairs
    assert [(pair.levels[0][name].before.is_thin, pair.levels[0][name].judgement) for name in ("p50", "p95", "p99")] == [
        (False, "within"),
        (True, "unknown"),
        (True, "unknown"),
    ]


def test_epochs_compare_like_sessions() -> None:
    both = timeline([Seen(10, 100.0), Seen(10, 200.0, epoch=1)])
    found = compared(both)
    assert [curve.name for curve in found.curves] == ["a#0", "a#1"]
    assert found.pairs[0].levels[0]["goodput"].change == 100.0
    assert [(row.name, row.values) for row in found.subject] == [("threads", ("4", "8"))]
    alone = timeline([Seen(10, 100.0)], id="b")
    assert [curve.name for curve in compare([Session(both, 1), Session(alone)]).curves] == ["a#1", "b"]
    assert len(compare([Session(both), Session(alone)]).pairs) == 2


def test_one_curve_is_not_a_comparison_and_an_unknown_epoch_is_named() -> None:
    with pytest.raises(InputError, match="two sessions or more, or one with two epochs"):
        compared(timeline([Seen(10)]))
    with pytest.raises(InputError, match=r"a#3: no such epoch; it has: 0"):
        compare([Session(timeline([Seen(10)]), 3), Session(timeline([Seen(10)]))])


# -- knees


def test_knees_are_compared_where_both_have_one() -> None:
    marks = [knee(60, 120.0, users_low=55, users_high=65), knee(45, 90.0, users_low=42, users_high=48)]
    (pair,) = compared(*(timeline([Seen(10)], more=[mark]) for mark in marks)).pairs
    moved, capacity = pair.knee
    assert (moved.judgement, moved.ratio) == ("beyond", -0.25)
    assert (capacity.judgement, capacity.ratio) == ("unknown", -0.25)
    assert "the knee is at 45.0 instead of 60.0 users (-25.0%, worse, beyond noise)" in sentences.verdict(compared(
        *(timeline([Seen(10)], more=[mark]) for mark in marks)))  # fmt: skip


@pytest.mark.parametrize("state", ["retracted", "bend"])
def test_without_a_knee_its_figures_are_not_measured(state: str) -> None:
    mark = knee(45, 90.0)
    bend = marked(t_s=99.0, key="knee:0", state="open", kind="bend", id="bend", users=45)
    changed = msgspec.structs.replace(mark, state="retracted") if state == "retracted" else bend
    (pair,) = compared(timeline([Seen(10)], more=[mark]), timeline([Seen(10)], more=[changed])).pairs
    assert [one.judgement for one in pair.knee] == ["not_measured", "not_measured"]
    assert "only A has a knee" in sentences.verdict(compared(timeline([Seen(1)], more=[mark]), timeline([Seen(1)])))


# -- clients


@pytest.mark.parametrize(
    ("change_ms", "floor_ms", "judgement"),
    [
        (-1.3, -1.3, "client"),  # HttpUser against FastHttpUser on the same server (EXPERIMENTS, report 3)
        (-1.0, -1.3, "client"),
        (-1.35, -1.3, "client"),  # what is left is within noise
        (-2.0, -1.3, "partly_client"),  # a client under load costs more than its floor
        (-1.9, -0.2, "beyond"),  # but not nine times as much
        (1.0, -1.3, "beyond"),  # slower although the client costs less
        (-1.3, None, "unknown"),
        (-0.01, -1.3, "within"),
    ],
)
def test_the_overhead_of_client_classes_is_attributed_to_the_client(
    change_ms: float, floor_ms: float | None, judgement: str
) -> None:
    before, after = Estimate(2.22, 0.05), Estimate(2.22 + change_ms, 0.05)
    assert overhead_difference("mean", before, after, floor_ms).judgement == judgement


def test_a_client_with_less_overhead_is_not_a_faster_service() -> None:
    slow = session([Seen(50, 49.3, mean_ms=2.22, p50_ms=2.2)], client_overhead_ms=overheads(HttpUser=1.9))
    fast = session([Seen(50, 48.6, mean_ms=0.93, p50_ms=0.9)], client_overhead_ms=overheads(FastHttpUser=0.5))
    found = compare([slow, fast])
    level = found.pairs[0].levels[0]
    assert {level[name].judgement for name in ("mean", "p50", "p95", "p99")} == {"client"}
    assert not any(one.counts for one in level.differences)
    assert (
        "the difference in latency is caused by the client (FastHttpUser instead of HttpUser), not by the target"
        in sentences.verdict(found)
    )
    assert any("by itself FastHttpUser costs 1.4 ms less at the median" in warning for warning in sentences.warnings(found))


def test_a_client_of_unknown_overhead_is_a_condition_too() -> None:
    fast = timeline([Seen(50, 49.3, mean_ms=2.2, mean_se_ms=0.02)], client_overhead_ms=overheads(FastHttpUser=0.5))
    mixed = timeline(
        [Seen(50, 48.6, mean_ms=0.9, mean_se_ms=0.01)],
        clients=("FastHttpUser", "User"),
        client_overhead_ms=overheads(FastHttpUser=0.5),
    )
    found = compared(fast, mixed)
    row = next(row for row in found.conditions if row.name == "client")
    assert row.values == ("fast (FastHttpUser)", "fast (FastHttpUser) + other (User)")
    assert found.pairs[0].levels[0]["mean"].overhead_change_ms is None  # what the other class costs nobody measured


# -- conditions and subject


def test_sessions_under_the_same_conditions_have_no_warning() -> None:
    found = compared(
        timeline([Seen(10)]), timeline([Seen(10)], id="b", host=msgspec.structs.replace(HOST, memory_bytes=8_590_000_000))
    )
    assert (found.conditions, found.subject, sentences.warnings(found)) == ((), (), [])


def test_conditions_that_differ_are_warned_about_and_named_in_the_verdict() -> None:
    host = HostFacts(name="two", cpus=4, memory_bytes=16 << 30, fds_limit=2048, port_range=(1024, 60999))
    profile = {"name": "mixed", "users": {**USERS, "wait_s": {"constant": 1.0}, "task": [{"name": "/", "weight": 2}]}}
    other = timeline([Seen(10, 200.0)], host=host, versions={"capexplorer": "1", "locust": "3"}, profile=profile)
    found = compared(timeline([Seen(10)]), other)
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


def test_parameters_label_and_profile_may_differ_without_a_warning() -> None:
    other = timeline([Seen(10)], label="new", profile={"name": "io", "users": {**USERS, "task": [{"name": "/io"}]}})
    found = compared(timeline([Seen(10)], label="old"), other)
    assert found.conditions == ()
    assert [row.name for row in found.subject] == ["label", "profile", "requests and weights"]


# -- the verdict


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ([Seen(10)], [Seen(20)], "B and A have no settled user count in common"),
        ([Seen(10)], [Seen(10, 101.0)], "Goodput of B and A does not differ beyond noise at 10 users"),
        ([Seen(10)], [Seen(10, 80.0)], "B finishes less than A beyond noise (-20.0% at 10 users)"),
        (
            [Seen(10), Seen(20)],
            [Seen(10), Seen(20, 150.0)],
            "B finishes more than A beyond noise at 1 of 2 user counts in common (+50.0% at 20 users)",
        ),
        (
            [Seen(20), Seen(100)],
            [Seen(20, 120.0), Seen(100, 60.0)],
            "The curves cross: B finishes more than A (+20.0% at 20 users) and less (-40.0% at 100 users), both beyond noise",
        ),
        ([Seen(10)], [Seen(10, 900.0, None)], "Whether goodput of B and A differs is unknown at 10 users"),
    ],
)
def test_the_verdict_is_one_sentence(before: Sequence[Seen], after: Sequence[Seen], sentence: str) -> None:
    verdict = sentences.verdict(compared(timeline(before), timeline(after)))
    assert verdict.startswith(sentence)
    assert verdict.endswith(".")
