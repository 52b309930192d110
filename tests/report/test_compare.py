"""Comparing sessions: which differences are significant, how levels are pooled. What a comparison claims: `made_comparisons`."""

from __future__ import annotations

import math

import pytest

from capexplorer.errors import InputError
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Comparison, Session, compare
from capexplorer.report.compare.difference import difference, overhead_difference
from capexplorer.report.compare.estimates import Estimate, pooled

from .compared import LevelSpec, timeline


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


def test_the_interval_of_a_change_contains_its_ratio() -> None:
    one = difference("capacity", Estimate(100.0, 2.0), Estimate(200.0, 4.0))
    assert one.interval is not None
    low, high = one.interval
    assert low < 1.0 < high
    assert (1 + low) * (1 + high) == pytest.approx(4.0), "symmetrical on a logarithmic scale"
    assert difference("capacity", Estimate(100.0), Estimate(200.0, 4.0)).interval is None


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
