"""Whether a curve has bent or has a knee, and whether all levels belong to one curve."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.curve_gates import Gates, KneeLines, is_consistent, is_long_enough
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import ideal, rates


def lines_of(ladder: list[LadderLevel]) -> KneeLines:
    lines = KneeLines.of(ladder)
    assert lines is not None
    return lines


def gates(users: list[float]) -> Gates:
    return lines_of(ideal(users)).gates


@pytest.mark.parametrize(
    ("users", "bent", "has_knee"),
    [
        ([10, 20, 30, 40], False, False),
        ([10, 20, 30, 40, 50.5], False, False),
        ([10, 20, 30, 40, 58], False, True),
        ([10, 20, 40, 60, 64], True, True),
    ],
    ids=["on the line", "at the knee", "just beyond", "a little beyond"],
)
def test_an_ideal_curve_with_its_knee_at_50_users_has_one_just_beyond_it(users: list[float], bent: bool, has_knee: bool) -> None:
    lines = lines_of(ideal(users))
    assert {"bent": lines.gates.bent, "has_knee": lines.has_knee} == {"bent": bent, "has_knee": has_knee}, lines.gates


def test_slope_and_efficiency_at_the_top_have_one_sided_bounds() -> None:
    found = gates([10, 20, 40, 80, 100])
    assert found.efficiency == pytest.approx(0.5, abs=0.01)
    assert found.efficiency < found.efficiency_high < 0.6
    assert found.slope == pytest.approx(0.0, abs=0.01)
    assert found.slope_low < found.slope < found.slope_high


def test_a_curve_over_a_narrow_span_is_judged_by_its_slope() -> None:
    assert gates([90, 95, 100]).narrow
    assert not gates([70, 95, 100]).narrow


@pytest.mark.parametrize(
    ("pairs", "consistent"),
    [
        ([(10, 20), (20, 40), (40, 80), (80, 100), (100, 100)], True),
        ([(10, 20), (20, 40), (60, 30), (80, 100), (100, 100)], False),
    ],
    ids=["two lines", "a level far below the capacity before the plateau"],
)
def test_levels_of_two_services_are_not_consistent(pairs: list[tuple[float, float]], consistent: bool) -> None:
    ladder = rates(pairs, seconds=20)
    assert is_consistent(lines_of(ladder)) is consistent


@pytest.mark.parametrize(
    ("pairs", "failure_ratio", "consistent"),
    [
        ([(2, 2.7), (4, 5.4), (5, 6.8), (7, 9.1), (11, 9.0), (13, 9.2)], 0.0, True),
        ([(2, 2.7), (4, 5.4), (5, 6.8), (7, 9.1), (11, 9.0), (13, 11.5)], 0.0, False),
        ([(2, 2.7), (4, 5.4), (5, 6.8), (7, 9.1), (11, 9.0), (13, 11.5)], 0.1, True),
    ],
    ids=["flat beyond the knee", "flat, then steep again", "clients give up beyond the knee"],
)
def test_a_curve_that_is_flat_and_then_steep_again_is_inconsistent_unless_requests_fail(
    pairs: list[tuple[float, float]], failure_ratio: float, consistent: bool
) -> None:
    ladder = [replace(level, goodput_se_rps=0.3, failure_ratio=failure_ratio) for level in rates(pairs, seconds=27)]
    assert is_consistent(lines_of(ladder)) is consistent


@pytest.mark.parametrize(
    ("top_rps", "refused_ratio", "consistent"),
    [(17.1, 0.0, False), (14.0, 0.0, True), (17.1, 1.0, True)],
    ids=["a constant share of requests fails", "goodput stays as it is", "a limiter refuses"],
)
def test_goodput_that_grows_with_the_users_although_a_third_of_the_requests_fail_is_no_plateau(
    top_rps: float, refused_ratio: float, consistent: bool
) -> None:
    """From a simulated service whose dependency began to fail for a third of the requests at the step to 5 users."""
    ladder = rates([(1, 3.7), (2, 8.1), (3, 11.8), (4, 16.2), (5, 13.9), (6, top_rps)], seconds=17)
    failing = [
        replace(level, failure_ratio=0.32, replied_ratio=1.0, refused_ratio=refused_ratio) if level.users > 4 else level
        for level in (replace(level, goodput_se_rps=0.4) for level in ladder)
    ]
    assert is_consistent(lines_of(failing)) is consistent


@pytest.mark.parametrize(
    ("top_ms", "consistent"), [(36.0, False), (48.0, True)], ids=["still warming up beyond the knee", "warm on the line"]
)
def test_responses_that_go_on_getting_shorter_beyond_the_knee_contradict_a_line_measured_in_a_warm_up(
    top_ms: float, consistent: bool
) -> None:
    """From a simulated service that became faster during five of its six levels: 3 users made 7.9/s each, 6 users 10.1/s each."""
    latency_ms = {3: 86.0, 6: 59.0, 8: 47.0, 11: 47.0, 14: top_ms, 17: top_ms}
    ladder = rates([(3, 23.8), (6, 60.4), (8, 89.3), (11, 121.3), (14, 141.7), (17, 140.7)], seconds=27)
    ladder = [replace(level, goodput_se_rps=2.0, latency_ms=latency_ms[round(level.users)], requests=2_000) for level in ladder]
    assert is_consistent(lines_of(ladder)) is consistent


@pytest.mark.parametrize(
    ("seconds", "ramp", "enough"),
    [(2, False, False), (3, False, True), (None, False, True), (2, True, True)],
    ids=["four seconds beyond the knee", "six seconds", "a table", "bins of a ramp"],
)
def test_a_capacity_rests_on_six_settled_seconds(seconds: float | None, ramp: bool, enough: bool) -> None:
    ladder = [replace(level, seconds=seconds, ramp=ramp) for level in ideal([10, 20, 40, 80, 100])]
    assert is_long_enough(lines_of(ladder)) is enough


@pytest.mark.parametrize(("seconds", "enough"), [(4.0, False), (9.0, True)], ids=["one cycle of its users", "two cycles"])
def test_a_capacity_rests_on_two_cycles_of_the_users_beyond_the_knee(seconds: float, enough: bool) -> None:
    ladder = [replace(level, goodput_rps=rate, throughput_rps=rate, seconds=seconds)
              for level, rate in zip(ideal([10, 20, 40, 80, 100]), [2, 4, 8, 10, 10], strict=True)]  # fmt: skip
    assert is_long_enough(lines_of(ladder)) is enough
