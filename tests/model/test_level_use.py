from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.model.events import LevelClosed, LevelOpened, Verdict
from capexplorer.model.figures import LevelFigures
from capexplorer.model.level_use import LevelUse, level_uses
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import RateLevelVerdict, RateVerdict, RegimeVerdict, Why


def timeline(verdict: Verdict | None, *users: int) -> Timeline:
    """Levels of a second each, and the verdict on them."""
    found = Timeline()
    for index, count in enumerate(users):
        found.apply(LevelOpened(t_s=float(index), index=index, users=count, spawn_rate=1.0, by="user"))
        found.apply(
            LevelClosed(t_s=index + 1.0, index=index, users=count, started_s=float(index), figures=LevelFigures(settled=True))
        )
    if verdict is not None:
        found.apply(verdict)
    return found


def regime(*levels: int, judged: bool = False, return_users: float | None = None) -> RegimeVerdict:
    return RegimeVerdict(
        began_s=0.0,
        users=1.0,
        after_rps=1.0,
        most_users=1.0,
        most_rps=1.0,
        levels=levels,
        judged=judged,
        return_users=return_users,
    )


def rate(level: int, *, why: Why, regimes: tuple[RegimeVerdict, ...] = ()) -> RateVerdict:
    found = RateLevelVerdict(
        level=level, offered_per_s=9.0, goodput_per_s=9.0, goodput_se_per_s=0.1, state="kept", failure_ratio=0.0,
        dropped_ratio=0.0, growth_per_s=0.0, why=why,
    )  # fmt: skip
    return RateVerdict(levels=(found,), regimes=regimes)


@pytest.mark.parametrize(
    ("verdict", "use"),
    [
        (None, LevelUse(1)),
        (Verdict(t_s=3.0), LevelUse(1)),
        (Verdict(t_s=3.0, recovery_levels=(1,)), LevelUse(1, ("recovery",))),
        (Verdict(t_s=3.0, rates=rate(1, why="recovery")), LevelUse(1, ("recovery",))),
        (Verdict(t_s=3.0, rates=rate(1, why="unsteady")), LevelUse(1, ("unsteady",))),
        (Verdict(t_s=3.0, rates=rate(1, regimes=(regime(0, judged=True), regime(1, return_users=10.0)), why="other_service")),
         LevelUse(1, ("other_service",))),  # as its curve leaves it out, although load may explain it
        (Verdict(t_s=3.0, disturbed_levels=(1,)), LevelUse(1, is_disturbed=True)),
        (Verdict(t_s=3.0, disturbed_levels=(1,), left_out_levels=(1,)), LevelUse(1, ("disturbed",), is_disturbed=True)),
        (Verdict(t_s=3.0, regimes=(regime(0, judged=True), regime(1))), LevelUse(1, ("other_service",))),
        (Verdict(t_s=3.0, regimes=(regime(0, 1, judged=True), regime(1))), LevelUse(1, ("changed", "other_service"))),
        (Verdict(t_s=3.0, regimes=(regime(0, judged=True), regime(1)), recovery_levels=(1,)),
         LevelUse(1, ("other_service", "recovery"))),
    ],
)  # fmt: skip
def test_the_use_of_a_level_has_every_reason_for_which_it_is_not_counted(verdict: Verdict | None, use: LevelUse) -> None:
    found = level_uses(timeline(verdict, 10, 20))
    assert found == {0: LevelUse(0), 1: use}
    assert found[1].why == (use.whys[0] if use.whys else None)


@pytest.mark.parametrize(("return_users", "counted"), [(10.0, True), (20.0, False)])
def test_a_level_beyond_a_return_that_would_show_whether_load_is_the_reason_is_counted(
    return_users: float, counted: bool
) -> None:
    verdict = Verdict(t_s=3.0, regimes=(regime(0, judged=True), regime(1, return_users=return_users)))
    assert (level_uses(timeline(verdict, 10, 20))[1].why is None) is counted


def test_a_level_of_another_epoch_is_not_judged_by_this_one() -> None:
    found = timeline(Verdict(t_s=3.0, epoch=1, recovery_levels=(1,)), 10, 20)
    assert level_uses(found)[1] == replace(LevelUse(1), whys=())
