"""The line that a headless run prints when a level ends."""

from __future__ import annotations

from capexplorer.commands.headless import level_line
from capexplorer.model.events import Drops, LevelClosed
from capexplorer.model.figures import Latency, LevelBin, LevelFigures
from capexplorer.model.offered import OfferedFigures


def closed(figures: LevelFigures, *bins: LevelBin) -> LevelClosed:
    return LevelClosed(t_s=30.0, index=0, users=40, started_s=0.0, figures=figures, bins=bins)


def bin_of(users: float, goodput_rps: float | None) -> LevelBin:
    return LevelBin(users=users, figures=LevelFigures(settled=True, goodput_rps=goodput_rps))


def test_the_line_of_a_level_has_its_figures() -> None:
    figures = LevelFigures(
        settled=True, settled_seconds=20.0, goodput_rps=120.0, goodput_se_rps=1.0, latency_ms=Latency(p95=12.0), failures=3
    )
    assert level_line(closed(figures)) == (
        "level    40 users: goodput 120.0 ± 2.0/s, p95 12 ms, 3 failures in 20 settled seconds"
    )


def test_an_unsettled_level_is_printed_as_not_settled() -> None:
    figures = LevelFigures(settled=False, failures_while_unsettled=7)
    assert level_line(closed(figures)) == "level    40 users: did not settle, 7 failures"


def test_the_line_of_a_ramp_has_the_highest_goodput_of_its_bins() -> None:
    unsettled = LevelFigures(settled=False)
    bins = (bin_of(10.0, 31.0), bin_of(38.5, 45.31), bin_of(39.5, 44.0), bin_of(40.0, None))
    assert level_line(closed(unsettled, *bins)) == "ramp to 40 users: goodput at most 45.3/s at 38.5 users (binned by users)"
    assert level_line(closed(unsettled, bin_of(3.0, None))) == "ramp to 40 users: no goodput measured (binned by users)"


def at_rate(figures: LevelFigures, *bins: LevelBin) -> LevelClosed:
    return LevelClosed(t_s=30.0, index=0, users=0, offered_per_s=200.0, started_s=0.0, figures=figures, bins=bins)


def test_the_line_of_a_rate_level_has_its_finished_failed_and_dropped_iterations() -> None:
    offered = OfferedFigures(
        offered_per_s=200.0, finished_per_s=151.2, finished_se_per_s=1.0, failed=2, dropped=Drops(target=90, stopped=3),
        from_plan_ms=Latency(p95=812.5),
    )  # fmt: skip
    assert level_line(at_rate(LevelFigures(settled=True, settled_seconds=20.0, offered=offered))) == (
        "level   200/s offered: finished 151.2 ± 2.0/s, p95 from plan 812 ms, 2 failed, "
        "93 dropped (all users wait for the target: 90, the load ended: 3) in 20 settled seconds"
    )


def test_an_unsettled_rate_level_is_printed_as_not_settled() -> None:
    figures = LevelFigures(settled=False, failures_while_unsettled=7)
    assert level_line(at_rate(figures)) == "level   200/s offered: did not settle, 7 failures"


def test_the_line_of_a_ramp_of_rates_has_the_highest_rate_of_finished_iterations() -> None:
    bins = [
        LevelBin(users=9.0, figures=LevelFigures(settled=True, offered=OfferedFigures(offered_per_s=rate, finished_per_s=done)))
        for rate, done in ((10.0, 10.0), (60.0, 45.31), (80.0, 40.0))
    ]
    assert level_line(at_rate(LevelFigures(settled=False), *bins)) == (
        "ramp to 200/s offered: at most 45.3/s finished at 60/s offered (binned by rate)"
    )
