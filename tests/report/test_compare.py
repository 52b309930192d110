"""Comparing sessions: which levels are matched, which differences are significant, and the sentence of the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import pytest
from marked import marked

from capexplorer.errors import InputError
from capexplorer.model.events import Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict
from capexplorer.report.compare import Comparison, Session, compare, sentences
from capexplorer.report.compare.difference import difference
from capexplorer.report.compare.estimates import Estimate, pooled

from .compared import LevelSpec, knee, session, timeline


def compared(*timelines: Timeline) -> Comparison:
    """The comparison of sessions that have figures of levels and no seconds."""
    return compare([Session(each) for each in timelines])


# -- differences of two figures


# The noise includes the standard errors and the difference between equal runs, 1% of each goodput.
@pytest.mark.parametrize(
    ("before", "after", "judgement"),
    [
        (Estimate(100.0, 1.0), Estimate(104.0, 1.0), "beyond"),  # the noise is 1.96 sqrt(1 + 1 + 1 + 1) = 3.92
        (Estimate(100.0, 1.0), Estimate(95.9, 1.0), "beyond"),
        (Estimate(100.0, 1.0), Estimate(103.8, 1.0), "within"),
        (
            Estimate(100.0, 1.0, degrees=3),
            Estimate(104.0, 1.0, degrees=3),
            "within",
        ),  # Student's t
        (Estimate(100.0, 0.1), Estimate(102.5, 0.1), "within"),  # beyond its errors, but equal runs differ as much
        (Estimate(100.0, None), Estimate(900.0, 1.0), "unknown"),
        (Estimate(100.0, 1.0), Estimate(900.0, None), "unknown"),
        (Estimate(None), Estimate(900.0, 1.0), "not_measured"),
        (Estimate(0.0, 0.001), Estimate(0.5, 0.001), "beyond"),
        (Estimate(0.0, 0.0), Estimate(0.0, 0.0), "within"),
    ],
)
def test_a_difference_is_significant_beyond_its_noise(before: Estimate, after: Estimate, judgement: str) -> None:
    assert difference("goodput", before, after).judgement == judgement


def test_a_difference_has_its_change_ratio_noise_and_direction() -> None:
    of_p95 = difference("p95", Estimate(200.0, 3.0), Estimate(250.0, 4.0))
    assert (of_p95.change, of_p95.ratio, of_p95.better) == (50.0, 0.25, False)
    # the two errors, and the difference of p95 between equal runs: 3% of each value
    assert of_p95.noise == pytest.approx(1.96 * math.sqrt(3**2 + 4**2 + 6**2 + 7.5**2), rel=0.001)
    assert difference("goodput", Estimate(1.0, 0.1), Estimate(2.0, 0.1)).better is True
    assert difference("throughput", Estimate(1.0, 0.1), Estimate(2.0, 0.1)).better is None
    assert difference("goodput", Estimate(0.0, 0.1), Estimate(2.0, 0.1)).ratio is None
    assert difference("goodput", None, Estimate(2.0, 0.1)).change is None


# -- pooling


def test_levels_of_equal_user_counts_are_pooled_by_inverse_variance() -> None:
    found = pooled([Estimate(100.0, 1.0), Estimate(101.0, 2.0)])
    assert found.value == pytest.approx((100 + 101 / 4) / 1.25)
    assert found.se == pytest.approx(math.sqrt(1 / 1.25))


def test_the_error_of_pooled_levels_is_at_least_their_scatter() -> None:
    found = pooled([Estimate(100.0, 1.0), Estimate(140.0, 1.0)])
    assert found.value == 120.0
    assert found.se == pytest.approx(20.0)


def test_a_level_without_an_error_is_pooled_only_if_no_level_has_one() -> None:
    assert pooled([Estimate(100.0, 1.0), Estimate(500.0, None)]) == Estimate(100.0, 1.0)
    assert pooled([Estimate(100.0, None, 1.0), Estimate(200.0, None, 3.0)]) == Estimate(175.0, None, 4.0)
    assert pooled([Estimate(None), Estimate(None)]) == Estimate()


def test_a_level_with_an_error_of_zero_does_not_outweigh_the_others() -> None:
    found = pooled([Estimate(100.0, 0.0, 6.0), Estimate(110.0, 2.0, 6.0)])
    assert found.value == pytest.approx(105.0)
    assert found.se is not None
    assert found.se > 1.0


# -- levels


def test_levels_of_equal_user_counts_are_matched_and_the_others_are_listed() -> None:
    (pair,) = compared(timeline([LevelSpec(10), LevelSpec(50)]), timeline([LevelSpec(50), LevelSpec(20), LevelSpec(100)])).pairs
    assert [level.users for level in pair.levels] == [50]
    assert (pair.only_before, pair.only_after) == ((10,), (20, 100))


def test_ramps_levels_without_users_and_levels_that_never_settled_are_not_matched() -> None:
    levels = [LevelSpec(0), LevelSpec(10), LevelSpec(20, settled=False), LevelSpec(30, ramp=True)]
    found = compared(timeline(levels), timeline(levels))
    assert [level.users for level in found.pairs[0].levels] == [10]
    assert found.curves[0].unsettled == (20, 30)


def test_every_figure_of_a_level_is_compared() -> None:
    (pair,) = compare([session([LevelSpec(10, 100.0)]), session([LevelSpec(10, 110.0, p50_ms=20.0, mean_ms=20.0)])]).pairs
    judgements = {difference.figure: difference.judgement for difference in pair.levels[0].differences}
    assert judgements == {
        "goodput": "beyond",
        "throughput": "within",
        "mean": "beyond",
        "p50": "beyond",
        "p95": "beyond",
        "p99": "beyond",
        "failure_ratio": "within",
        "target_cpu": "not_measured",
    }


def test_without_samples_only_goodput_and_mean_latency_have_errors() -> None:
    (pair,) = compared(timeline([LevelSpec(10, 100.0)]), timeline([LevelSpec(10, 110.0, p50_ms=20.0, mean_ms=20.0)])).pairs
    judgements = {difference.figure: difference.judgement for difference in pair.levels[0].differences}
    assert {judgements["goodput"], judgements["mean"]} == {"beyond"}
    assert {judgements[name] for name in ("throughput", "p50", "p95", "p99", "failure_ratio")} == {"unknown"}


def test_a_percentile_of_too_few_values_is_thin_and_its_noise_is_unknown() -> None:
    few = session([LevelSpec(10, failures=1_900)])
    (pair,) = compare([few, few]).pairs
    (level,) = pair.levels
    assert {name: level[name].before.is_thin for name in ("p50", "p95", "p99")} == {"p50": False, "p95": True, "p99": True}
    assert [level[name].judgement for name in ("p50", "p95", "p99")] == ["within", "unknown", "unknown"]


def test_epochs_of_a_session_are_compared_as_sessions_are() -> None:
    both = timeline([LevelSpec(10, 100.0), LevelSpec(10, 200.0, epoch=1)])
    found = compared(both)
    assert [curve.name for curve in found.curves] == ["a#0", "a#1"]
    assert found.pairs[0].levels[0]["goodput"].change == 100.0
    assert [(row.name, row.values) for row in found.subject] == [("threads", ("4", "8"))]
    alone = timeline([LevelSpec(10, 100.0)], id="b")
    assert [curve.name for curve in compare([Session(both, 1), Session(alone)]).curves] == ["a#1", "b"]
    assert len(compare([Session(both), Session(alone)]).pairs) == 2


def test_comparing_a_single_curve_or_an_unknown_epoch_is_refused() -> None:
    with pytest.raises(InputError, match="two sessions or more, or one with two epochs"):
        compared(timeline([LevelSpec(10)]))
    with pytest.raises(InputError, match=r"a#3: no such epoch; it has: 0"):
        compare([Session(timeline([LevelSpec(10)]), 3), Session(timeline([LevelSpec(10)]))])


# -- knees


def test_the_knees_of_two_sessions_are_compared() -> None:
    marks = [knee(60, 120.0, users_low=55, users_high=65), knee(45, 90.0, users_low=42, users_high=48)]
    (pair,) = compared(*(timeline([LevelSpec(10)], more=[mark]) for mark in marks)).pairs
    moved, capacity = pair.knee
    assert (moved.judgement, moved.ratio) == ("beyond", -0.25)
    assert (capacity.judgement, capacity.ratio) == ("unknown", -0.25)


@pytest.mark.parametrize("state", ["retracted", "bend"])
def test_a_retracted_knee_or_a_bend_is_not_compared_with_a_knee(state: str) -> None:
    mark = knee(45, 90.0)
    bend = marked(t_s=99.0, key="knee:0", state="open", kind="bend", id="bend", users=45)
    changed = msgspec.structs.replace(mark, state="retracted") if state == "retracted" else bend
    (pair,) = compared(timeline([LevelSpec(10)], more=[mark]), timeline([LevelSpec(10)], more=[changed])).pairs
    assert [one.judgement for one in pair.knee] == ["not_measured", "not_measured"]
    assert "only A has a knee" in sentences.verdict(compared(timeline([LevelSpec(1)], more=[mark]), timeline([LevelSpec(1)])))


# -- the capacity is the answer

LOW = [LevelSpec(users, 3.0 * users, 0.05 * users) for users in (1, 3, 6, 12)]
KNEES = (
    knee(26, 78.0, users_low=23, users_high=29, capacity_se_rps=1.0),
    knee(50, 151.0, users_low=42, users_high=61, capacity_se_rps=1.7),
)
FEW, MORE = LevelSpec(48, 78.0, mean_ms=330.0), LevelSpec(48, 140.0, mean_ms=50.0)
POOL_LEVELS = [*LOW, LevelSpec(24, 70.0), FEW, LevelSpec(58, 77.0)]
POOL_OF_2 = timeline(POOL_LEVELS, more=[KNEES[0]])
POOL_OF_4 = timeline([*LOW, LevelSpec(24, 72.0), MORE, LevelSpec(96, 150.0)], more=[KNEES[1]], id="b")


def test_a_doubled_capacity_is_claimed_and_comes_first_although_low_levels_are_equal() -> None:
    found = compared(POOL_OF_2, POOL_OF_4)
    (pair,) = found.pairs
    assert pair.directions == {True}
    assert all(one.claimed for one in pair.knee)
    words = sentences.verdict(found).split()
    assert " ".join(words[:15]) == "B is better than A: capacity 78.0 to 151/s (+94% [+83% to +104%]), knee 26"
    assert "mean latency at 48 users 330 to 50 ms (-85% [" in sentences.verdict(found)
    assert sentences.verdict(found).endswith("; no significant difference below 24 users.")


def test_a_level_is_tested_where_one_of_the_two_is_at_its_limit() -> None:
    (pair,) = compared(POOL_OF_2, POOL_OF_4).pairs
    assert [level.users for level in pair.levels if level.at_limit] == [24, 48]
    strange = timeline([*LOW[:-1], LevelSpec(12, 99.0), LevelSpec(24, 72.0), LevelSpec(48, 78.0)], more=[KNEES[0]])
    (pair,) = compared(POOL_OF_2, strange).pairs
    level = next(level for level in pair.levels if level.users == 12)
    assert level["goodput"].counts, "the row shows it"
    assert not (level["goodput"].claimed or level["goodput"].isolated)


def test_means_over_levels_leave_out_those_between_two_knees() -> None:
    (pair,) = compared(POOL_OF_2, POOL_OF_4).pairs
    assert {one.figure: one.levels for one in pair.overall}["mean"] == 4
    assert "goodput" not in {one.figure for one in pair.overall}, "below the knee the users determine goodput"


def test_a_mean_change_that_would_not_find_a_doubling_is_not_in_the_footer() -> None:
    before = timeline([LevelSpec(users, mean_ms=10.0) for users in (1, 2, 3)])
    after = timeline([LevelSpec(users, mean_ms=mean_ms) for users, mean_ms in ((1, 10.0), (2, 40.0), (3, 400.0))])
    (pair,) = compared(before, after).pairs
    service_time = next(one for one in pair.overall if one.figure == "service_time")
    assert service_time.says_nothing
    assert "service time" not in sentences.overall(pair)


def test_the_highest_goodput_of_a_session_without_a_knee_is_the_least_that_its_capacity_can_be() -> None:
    unlimited = timeline([*LOW, LevelSpec(24, 72.0), LevelSpec(48, 140.0)], id="b")
    found = compared(POOL_OF_2, unlimited)
    capacity = found.pairs[0].capacities[0]
    assert (capacity.at_least, capacity.claimed, capacity.after.value) == ("after", True, 140.0)
    assert "capacity 78.0/s to at least 140/s (+79%" in sentences.verdict(found)
    (less,) = compared(POOL_OF_2, timeline([*LOW, LevelSpec(24, 72.0)], id="b")).pairs
    assert less.capacities == (), "24 users do not reach the other's capacity"


def test_a_halved_capacity_is_claimed_if_the_greater_one_is_only_a_bend_with_imprecise_levels() -> None:
    bend = Verdict(t_s=99.0, capacity=CapacityVerdict(knee=KneeVerdict(kind="bend", users=12)))
    flat = [LevelSpec(24, 158.0, 4.0), LevelSpec(26, 128.0, 2.0), LevelSpec(37, 157.0, 6.0), LevelSpec(45, 145.0, 20.0)]
    found = compared(timeline([*LOW, *flat], more=[bend]), timeline(POOL_LEVELS, more=[KNEES[0]], id="b"))
    capacity = found.pairs[0].capacities[0]
    assert (capacity.at_least, capacity.claimed) == ("before", True)
    assert sentences.verdict(found).startswith("B is worse than A: capacity at least 13")


def test_a_session_that_only_bends_makes_at_most_what_it_made_beyond_the_others_knee() -> None:
    bend = Verdict(t_s=99.0, capacity=CapacityVerdict(knee=KneeVerdict(kind="bend", users=20)))
    bending = timeline([*LOW, LevelSpec(24, 60.0), LevelSpec(96, 77.0)], more=[bend])
    capacity = compared(bending, POOL_OF_4).pairs[0].capacities[0]
    assert (capacity.before.value, capacity.after.value, capacity.at_least, capacity.better) == (77.0, 151.0, None, True)


def test_the_interval_of_a_change_contains_its_ratio() -> None:
    one = difference("capacity", Estimate(100.0, 2.0), Estimate(200.0, 4.0))
    assert one.interval is not None
    low, high = one.interval
    assert low < 1.0 < high
    assert (1 + low) * (1 + high) == pytest.approx(4.0), "symmetrical on a logarithmic scale"
    assert difference("capacity", Estimate(100.0), Estimate(200.0, 4.0)).interval is None


def test_failures_that_only_one_session_has_are_named() -> None:
    resets = marked(
        t_s=9.0, key="c", state="open", kind="cause", id="connection_reset", severity="warning", evidence={"count": 12}
    )
    found = sentences.verdict(compared(timeline([LevelSpec(10)]), timeline([LevelSpec(10)], more=[resets], id="b")))
    assert found.startswith("No significant difference between B and A: ")
    assert found.endswith("; only in B, but at too few loads to test: connections are reset.")


def test_unlike_failures_of_both_are_each_named_and_none_is_called_the_only_one() -> None:
    resets, timeouts = (
        marked(t_s=9.0, key="c", state="open", kind="cause", id=cause, severity="warning", evidence={"count": 12})
        for cause in ("connection_reset", "bad_gateway")
    )
    found = compared(timeline([LevelSpec(10)], more=[resets]), timeline([LevelSpec(10, 80.0)], more=[timeouts], id="b"))
    sentence = sentences.verdict(found)
    assert "; only in B, but at too few loads to test: bad gateway (HTTP 502)" in sentence
    assert "; only in A, but at too few loads to test: connections are reset" in sentence


def test_a_change_within_noise_has_no_interval_that_may_leave_out_zero() -> None:
    both = (knee(26, 78.0, capacity_se_rps=4.0), knee(26, 89.0, capacity_se_rps=4.0))
    found = compared(*(timeline(LOW, more=[mark], id=name) for mark, name in zip(both, "ab", strict=True)))
    capacity = found.pairs[0].capacities[1]
    assert capacity.interval is not None
    assert capacity.interval[0] > 0, "its 90% interval leaves out zero"
    assert "capacity 78.0 to 89.0/s (+14%, within noise of " in sentences.verdict(found)


def test_a_verdict_for_the_better_and_for_the_worse_says_in_what() -> None:
    failing = [LevelSpec(users, failures=300) for users in (10, 20, 40)]
    marks = (knee(26, 78.0, capacity_se_rps=1.0), knee(50, 151.0, capacity_se_rps=1.7))
    before, after = session([LevelSpec(users) for users in (10, 20, 40)], more=[marks[0]]), session(failing, more=[marks[1]])
    assert sentences.verdict(compare([before, after])).startswith("B is better than A in capacity, but worse in failures: ")


# -- the verdict


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ([LevelSpec(10)], [LevelSpec(20)], "B and A have no settled user count in common"),
        (
            [LevelSpec(10)],
            [LevelSpec(10, 101.0)],
            "No significant difference between B and A: goodput at 10 users 100 to 101/s (+1.0%",
        ),
        ([LevelSpec(10)], [LevelSpec(10, 80.0)], "B is worse than A: goodput at 10 users 100 to 80.0/s (-20% [-23% to -17%])"),
        (
            [LevelSpec(10), LevelSpec(20)],
            [LevelSpec(10), LevelSpec(20, 150.0)],
            "B is better than A: goodput at 20 users 100 to 150/s (+50% [+45% to +55%])",
        ),
        (
            [LevelSpec(20), LevelSpec(100)],
            [LevelSpec(20, 120.0), LevelSpec(100, 60.0)],
            "B is better and worse than A: goodput at 20 users 100 to 120/s (+20% [+16% to +24%]); "
            "goodput at 100 users 100 to 60.0/s (-40%",
        ),
        (
            [LevelSpec(10)],
            [LevelSpec(10, 900.0, None)],
            "No significant difference between B and A; whether goodput differs is unknown",
        ),
    ],
)
def test_the_verdict_states_the_goodput_difference(
    before: Sequence[LevelSpec], after: Sequence[LevelSpec], sentence: str
) -> None:
    verdict = sentences.verdict(compared(timeline(before), timeline(after)))
    assert verdict.startswith(sentence)
    assert verdict.endswith(".")
