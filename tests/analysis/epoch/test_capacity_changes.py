"""A fall or rise of goodput that load does not explain begins another regime: levels of two services are not one curve."""

from __future__ import annotations

import pytest

from capexplorer.analysis.epoch.epoch import epoch_of

from ..loads import Load, closed_session
from .regime_sessions import CLIMB, WAIT_S, Seconds, clean, regimes, session


def test_a_fall_inside_a_level_near_the_knee_begins_a_regime_even_slightly_below_the_low_load_line() -> None:
    level = [(rate, 0) for rate in (108, 114, 102, 110, 106, 60, 54, 62, 58, 60, 56)]
    levels = (8, clean(40)), (16, clean(80)), (24, level), (32, [(rate, 0) for rate in (58, 62, 56, 60, 58, 62, 57, 60, 59)])
    assert [users for _, users in regimes(epoch_of(session(*levels), 0))] == [[8, 16, 24], [24, 32]]


def test_after_an_undecided_fall_the_levels_before_it_give_the_verdict() -> None:
    epoch = epoch_of(session(*CLIMB, (32, clean(60)), (40, clean(62)), (48, clean(61))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[8, 16, 24], [32, 40, 48]]
    assert epoch.is_undecided
    assert epoch.judged is epoch.regimes[0]


def test_a_recovering_level_with_more_users_is_not_a_plateau_of_the_levels_before_a_fault() -> None:
    stalled: Seconds = [(0, 0)] * 9
    epoch = epoch_of(session(*CLIMB, (32, stalled), (40, [(110, 12)] * 9)), 0)
    assert [levels for _, levels in regimes(epoch)][0] == [8, 16, 24]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


def test_noise_between_levels_after_a_fall_does_not_make_the_service_retrograde() -> None:
    epoch = epoch_of(session((20, clean(100)), (40, clean(200)), (60, clean(140)), (80, clean(152)), (100, clean(130))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[20, 40], [60, 80, 100]]


@pytest.mark.parametrize("good", range(3, 7))
def test_a_capacity_that_halves_inside_a_level_gives_no_knee_between_both_capacities(good: int) -> None:
    levels = [*CLIMB, (32, clean(160, good) + clean(80, 9 - good)), (40, clean(80)), (48, clean(80))]
    epoch = epoch_of(session(*levels), 0)
    assert regimes(epoch) == [(None, [8, 16, 24, 32]), ("goodput", [32, 40, 48])]
    for reported in epoch.verdict.regimes if epoch.verdict is not None else ():
        assert reported.knee is None or reported.knee.kind != "knee"


def test_two_quick_seconds_after_a_step_up_are_a_transient_and_no_change_of_the_service() -> None:
    """Recorded on an unchanged service whose requests share one interpreter: 20 more users begin with empty queues."""
    climb = [(5, clean(13)), (10, clean(26)), (20, clean(47)), (30, clean(65)), (40, clean(80))]
    quick_at_first = (60, [(rate, 0) for rate in (116, 110, 91, 64, 104, 85, 75, 56, 50, 74, 87, 69, 82)])
    overloaded = (100, [(rate, 0) for rate in (47, 67, 78, 49)])
    assert regimes(epoch_of(session(*climb, quick_at_first, overloaded), 0)) == [(None, [5, 10, 20, 30, 40, 60, 100])]


def test_low_loads_after_the_capacity_halved_belong_to_the_changed_service() -> None:
    halved = (48, clean(163, 8) + clean(72, 11))
    before, after = [(6, clean(21)), (12, clean(42)), (24, clean(84)), halved], [(63, clean(71)), (82, clean(70))]
    epoch = epoch_of(session(*before, *after, (12, clean(41)), (3, clean(11))), 0)
    assert regimes(epoch) == [(None, [6, 12, 24, 48]), ("goodput", [48, 63, 82, 12, 3])]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "knee"
    assert epoch.verdict.capacity.knee.users == pytest.approx(20.5, rel=0.06)


def test_a_plateau_from_which_more_users_return_to_the_low_load_line_belongs_to_another_regime() -> None:
    loads = [Load(users, rate, 50.0, WAIT_S) for users, rate in ((8, 40), (16, 80), (24, 100), (32, 100), (40, 200), (48, 240))]
    assert regimes(epoch_of(closed_session(*loads), 0)) == [(None, [8, 16, 24, 32]), ("goodput", [40, 48])]


def test_a_fall_in_one_step_stays_undecided_and_one_that_continues_with_load_is_retrograde() -> None:
    line = [Load(users, 5.0 * users, 50.0, WAIT_S) for users in (8, 16, 24)]
    one = epoch_of(closed_session(*line, Load(32, 60, 300.0, WAIT_S)), 0)
    two = epoch_of(closed_session(*line, Load(32, 60, 300.0, WAIT_S), Load(40, 35, 900.0, WAIT_S)), 0)
    assert regimes(one) == [(None, [8, 16, 24]), ("goodput", [32])]
    assert not one.has_fault
    assert regimes(two) == [(None, [8, 16, 24, 32, 40])]


def test_a_capacity_that_grew_with_a_step_up_is_not_explained_by_a_later_step_down() -> None:
    """Recorded: a service that doubled its workers 15 s after they were all busy; 24 users made 39.4/s, 29 users 78.7/s."""
    levels = [
        Load(users, rate, 50.0, WAIT_S) for users, rate in ((4, 13.3), (8, 26.6), (16, 39.6), (24, 39.4), (29, 78.7), (15, 40))
    ]
    assert regimes(epoch_of(closed_session(*levels), 0))[0] == (None, [4, 8, 16, 24])


def test_a_curve_is_a_bend_and_no_knee_if_the_first_load_has_less_goodput_when_it_returns() -> None:
    up = [Load(users, min(5.0 * users, 100.0), 50.0, WAIT_S) for users in (8, 16, 24, 32, 40)]
    for back, kind in ((40.0, "knee"), (25.0, "bend")):
        verdict = epoch_of(closed_session(*up, Load(8, back, 50.0, WAIT_S)), 0).verdict
        assert verdict is not None
        assert verdict.capacity.knee is not None
        assert verdict.capacity.knee.kind == kind


GREW = [
    (6, clean(30)), (12, clean(60)), (24, clean(115)), (48, clean(120)), (58, clean(240)), (17, clean(85)), (29, clean(145)),
    (52, clean(240)),
]  # fmt: skip
"""A capacity of 120/s, which doubles between the levels of 48 and of 58 users. The level of 17 users fits both services."""


def test_levels_after_a_rise_that_load_does_not_explain_are_of_the_new_service_even_where_both_would_fit() -> None:
    epoch = epoch_of(session(*GREW), 0)
    assert [levels for _, levels in regimes(epoch)] == [[6, 12, 24, 48], [58, 17, 29, 52]]
    assert epoch.verdict is not None
    assert epoch.judged is epoch.regimes[1]


def test_a_rise_of_goodput_per_user_with_a_step_up_is_a_change_of_the_service_and_never_caused_by_load() -> None:
    epoch = epoch_of(session(*GREW), 0)
    assert epoch.verdict is not None
    rose = epoch.verdict.regimes[1]
    assert (rose.began, rose.inside, rose.return_users) == ("goodput", True, None)
