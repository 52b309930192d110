"""Accuracy of knees on simulated ladders whose true knees are known: the product's detector, kneed and a broken-line fit.

Closed queues of six kinds, 12 levels of 20 s up to 2.2 N*; the same systems up to 0.45 N*; linear systems. The truth is exact
(lab/simulation). Thresholds were tuned on seeds 0-299; these are 500,000 and up. kneed is needed by this benchmark only
(`pip install kneed`); without it its row says that it is not installed.

    python -m lab.bench knees [--ladders 600] [--seconds 20] [--first-seed 500000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from capexplorer.analysis.knee.capacity_curve import curve_of
from capexplorer.analysis.knee.confidence import broken_line
from capexplorer.analysis.knee.crossing import crossing
from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import LadderLevel, pooled
from capexplorer.model.verdicts import KneeVerdict
from lab.simulation.ladders import KINDS, Ladder, ladder, linear_ladder
from lab.simulation.shown import shown

from .shares import share

FIRST_SEED = 500_000

Detector = Callable[[Sequence[LadderLevel]], float | None]


@dataclass(frozen=True)
class Climb:
    """A simulated ladder and its levels as the detector gets them."""

    ladder: Ladder
    levels: tuple[LadderLevel, ...]

    @property
    def truth(self) -> float:
        """N*; nan for a linear system."""
        return self.ladder.truth.knee_users or float("nan")


def product(levels: Sequence[LadderLevel]) -> float | None:
    """The knee of the product's detector, in users."""
    knee = judge(levels).knee
    return knee.users if knee is not None and knee.kind == "knee" else None


def crossing_ungated(levels: Sequence[LadderLevel]) -> float | None:
    """The crossing of the low-load line and the capacity line, without the detector's conditions."""
    return crossing(curve_of(pooled(levels))).users


def broken_line_knee(levels: Sequence[LadderLevel]) -> float | None:
    """The break of a broken-line fit of goodput; None at the end of the ladder."""
    curve = curve_of(pooled(levels))
    found = broken_line(curve).break_users
    return found if found < 0.95 * curve.users[-1] else None


def kneed(of: Callable[[LadderLevel], float]) -> Detector | None:
    """kneed on a figure of the levels; None: it is not installed."""
    try:
        from kneed import KneeLocator  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None

    def detect(levels: Sequence[LadderLevel]) -> float | None:
        ladder_ = pooled(levels)
        users, rates = [level.users for level in ladder_], [of(level) for level in ladder_]
        found = KneeLocator(users, rates, S=1.0, curve="concave", direction="increasing").knee if len(users) > 2 else None
        return None if found is None else float(found)

    return detect


def twice_the_base(levels: Sequence[LadderLevel]) -> float | None:
    """Users of the first level whose p95 is above twice that of the first level."""
    base = next((level.p95_ms for level in levels if level.p95_ms is not None), None)
    return None if base is None else next((level.users for level in levels if (level.p95_ms or 0.0) > 2 * base), None)


def row(name: str, detect: Detector | None, full: list[Climb], low: list[Climb], linear: list[Climb]) -> None:
    if detect is None:
        print(f"  {name:34}  not installed (pip install kneed)")
        return
    errors = [abs(found / climb.truth - 1) if (found := detect(climb.levels)) is not None else np.inf for climb in full]
    within = [share(error <= bound for error in errors) for bound in (0.25, 0.15)]
    marks = [share(detect(climb.levels) is not None for climb in climbs) for climbs in (low, linear)]
    print(
        f"  {name:34}{within[0]:>10}{within[1]:>10}{np.median(errors):>9.1%}{np.quantile(errors, 0.9, method='higher'):>8.1%}"
        f"{marks[0]:>12}{marks[1]:>10}"
    )


def by_kind(full: list[Climb]) -> None:
    names = ("ladders", "knee", "within 25%", "median", "bias", "covered", "limit", "high")
    print(f"\n  {'this, by kind':14}" + "".join(f"{name:>12}" for name in names))
    for kind in (*KINDS, "all"):
        climbs = [climb for climb in full if kind in (climb.ladder.kind, "all")]
        found = [(climb, verdict) for climb in climbs if (verdict := _knee(climb)) is not None]
        ratios = np.array([(verdict.users or 0.0) / climb.truth for climb, verdict in found])
        figures = (
            str(len(climbs)),
            f"{len(found) / len(climbs):.1%}",
            f"{(np.abs(ratios - 1) <= 0.25).sum() / len(climbs):.1%}",
            f"{np.median(np.abs(ratios - 1)):.1%}",
            f"{np.median(ratios) - 1:+.1%}",
            share((v.users_low or 0.0) <= c.truth <= (v.users_high or np.inf) for c, v in found),
            share(v.limit == c.ladder.truth.limit for c, v in found),
            share(v.confidence == "high" for _, v in found),
        )
        print(f"  {kind:14}" + "".join(f"{figure:>12}" for figure in figures))


def _knee(climb: Climb) -> KneeVerdict | None:
    knee = judge(climb.levels).knee
    return knee if knee is not None and knee.kind == "knee" else None


def bends(climbs: list[Climb]) -> str:
    """Share of the ladders on which a bend was marked."""
    return share((knee := judge(climb.levels).knee) is not None and knee.kind == "bend" for climb in climbs)


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ladders", type=int, default=600, help="full ladders, over six kinds")
    parser.add_argument("--seconds", type=int, default=20, help="length of a level")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    chosen = parser.parse_args(list(argv))
    first, count, seconds = chosen.first_seed, chosen.ladders, chosen.seconds
    seeds = range(first, first + count // len(KINDS))
    began = time.perf_counter()
    full = [climb(ladder(kind, seed, level_s=seconds)) for seed in seeds for kind in KINDS]
    low = [climb(ladder(kind, seed, top=0.45, level_s=seconds)) for seed in seeds for kind in KINDS]
    linear = [climb(linear_ladder(seed, level_s=seconds)) for seed in range(first, first + count // 2)]
    print(
        f"  {len(full)} ladders to 2.2 N*, {len(low)} to 0.45 N*, {len(linear)} linear; {seconds} s levels; "
        f"seeds {first}-{seeds.stop - 1} (linear to {first + count // 2 - 1}); simulated in {time.perf_counter() - began:.0f} s"
    )
    print(f"\n  {'':34}{'in 25%':>10}{'in 15%':>10}{'median':>9}{'p90':>8}{'marks 0.45':>12}{'linear':>10}")
    began = time.perf_counter()
    row("this detector", product, full, low, linear)
    spent_ms = (time.perf_counter() - began) / (len(full) + len(low) + len(linear)) * 1000
    row("its crossing, without gates", crossing_ungated, full, low, linear)
    row("broken line on goodput", broken_line_knee, full, low, linear)
    row("kneed on goodput", kneed(lambda level: level.goodput_rps), full, low, linear)
    row("kneed on raw RPS", kneed(lambda level: level.throughput_rps or 0.0), full, low, linear)
    row("p95 over twice the base", twice_the_base, full, low, linear)
    by_kind(full)
    print(f"\n  bends (provisional) on ladders to 0.45 N*: {bends(low)}, on linear ones: {bends(linear)}")
    print(f"  a verdict takes {spent_ms:.1f} ms")


def climb(simulated: Ladder) -> Climb:
    return Climb(simulated, shown(simulated))


if __name__ == "__main__":
    main(sys.argv[1:])
