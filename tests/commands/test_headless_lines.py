"""What a headless run says of a level that is over, in one line."""

from __future__ import annotations

from capexplorer.commands.headless import level_line
from capexplorer.model.events import LevelClosed
from capexplorer.model.figures import Latency, LevelBin, LevelFigures


def closed(figures: LevelFigures, *bins: LevelBin) -> LevelClosed:
    return LevelClosed(t_s=30.0, index=0, users=40, started_s=0.0, figures=figures, bins=bins)


def bin_of(users: float, goodput_rps: float | None) -> LevelBin:
    return LevelBin(users=users, figures=LevelFigures(settled=True, goodput_rps=goodput_rps))


def test_the_line_of_a_level_has_its_figures() -> None:
    figures = LevelFigures(
        settled=True, settled_seconds=20.0, goodput_rps=120.0, goodput_se_rps=1.0, latency_ms=Latency(p95=12.0), failures=3
    )
    assert level_line(closed(figures)) == ("level    40 users: 120 ±2 req/s goodput, p95 12 ms, 3 failures in 20 settled seconds")


def test_a_level_that_did_not_settle_says_so() -> None:
    figures = LevelFigures(settled=False, failures_while_unsettled=7)
    assert level_line(closed(figures)) == "level    40 users: did not settle, 7 failures"


def test_the_line_of_a_ramp_has_the_highest_goodput_of_its_bins() -> None:
    unsettled = LevelFigures(settled=False)
    bins = (bin_of(10.0, 31.0), bin_of(38.5, 45.31), bin_of(39.5, 44.0), bin_of(40.0, None))
    assert level_line(closed(unsettled, *bins)) == "ramp to 40 users: at most 45.31 req/s goodput at 38.5 users (binned by users)"
    assert level_line(closed(unsettled, bin_of(3.0, None))) == "ramp to 40 users: no goodput measured (binned by users)"
