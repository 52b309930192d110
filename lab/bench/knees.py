"""Knees and leaks on simulated systems of known truth (lab/simulation): the detector, the autopilot, and simpler methods."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import Pool

import numpy as np
from numpy.typing import NDArray

from capexplorer.analysis.epoch.neighbours import NeighbourCheck, disturbance_of, usable_levels
from capexplorer.analysis.knee.crossing import crossing, curve_of
from capexplorer.analysis.knee.detector import analyse, judge
from capexplorer.analysis.knee.verdict_kinds import broken_line
from capexplorer.analysis.ladder import LadderLevel, ladder_level, pooled
from capexplorer.analysis.leaks import KINDS as LEAK_KINDS
from capexplorer.analysis.leaks import WARM_UP_S, LeakKind, lasting_growth
from capexplorer.model.events import HostFacts, Mark
from capexplorer.model.findings import Knee
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict
from lab.kit.tables import share
from lab.simulation.crowded import CORES, Crowded
from lab.simulation.crowded import climb as crowded_climb
from lab.simulation.growth import HEALTHY, descriptors, leaking
from lab.simulation.ladders import KINDS, Kind, Ladder, ladder, linear_ladder, shown
from lab.simulation.moving import WORLDS, World, knee_marks, moving_ladder
from lab.simulation.ramps import ramp_history
from lab.simulation.virtual import PolicyRun, linear_system, run_autopilot, system_of

NEAR = 0.25
AT_OR_BELOW = 1.15
BEYOND = 1.10


def print_row(name: str, cells: Iterable[object], width: int = 15) -> None:
    print(f"  {name:34}" + "".join(f"{cell:>{width}}" for cell in map(str, cells)), flush=True)


def covers(knee: KneeVerdict, truth: float) -> bool:
    return (knee.users_low or 0.0) <= truth <= (knee.users_high or np.inf)


def real_knee(knee: KneeVerdict | None) -> KneeVerdict | None:
    return knee if knee is not None and knee.kind == "knee" else None


# -- the autopilot -------------------------------------------------------------------------------------------------------------


def autopilot(systems: int = 240, first_seed: int = 670_000) -> None:
    """The autopilot on simulated systems whose knees are known; `make knees` compares it with policies of other tools.

    Closed queues of six kinds, explored from one user on, second by second, by the whole product: only load and
    readings are simulated. It was tuned on seeds 0-399, and on linear systems of 600,000-600,059; 660,000-660,039 were
    checked once; these are 670,000 and up. Times are simulated: `to knee` is the end of the search (a knee was found, or the
    autopilot gave up), `to end` includes the verification. `verified`: share of verified knees among those within 25%; `wrongly`:
    number of verified knees among all others.
    """
    seeds = range(first_seed, first_seed + systems // len(KINDS))
    chosen = [(kind, seed) for seed in seeds for kind in KINDS]
    print(f"  {len(chosen)} systems of {len(KINDS)} kinds, seeds {seeds.start}-{seeds.stop - 1}; median/90th percentile\n")
    cost = ("to knee s", "to end s", "most/N*", "levels")
    print_row("", ("systems", "knee", "in 25%", "in 15%", "median", "covered", "limit", *cost, "verified", "wrongly"), 11)
    began_s = time.perf_counter()
    explorations = [run_autopilot(*system_of(*each)) for each in chosen]
    spent_s = time.perf_counter() - began_s
    _autopilot_row("autopilot", explorations)
    for wanted in KINDS:
        of_kind = [run for (kind, _), run in zip(chosen, explorations, strict=True) if kind == wanted]
        _autopilot_row(f"autopilot, {wanted}", of_kind)
    runs = [run_autopilot(*linear_system(first_seed + at), max_users=400) for at in range(systems // 4)]
    kinds = Counter(run.verdict.knee.kind if run.verdict.knee is not None else "none" for run in runs)
    endings = Counter(run.ending or "none" for run in runs)
    times = _spread([run.ended_s for run in runs], ".0f")
    print(f"\n  linear, to 400 users: {len(runs)} systems, verdicts {dict(kinds)}, endings {dict(endings)}, {times} s")
    print(f"  an exploration is simulated in {spent_s / len(chosen) * 1000:.0f} ms")


def _autopilot_row(name: str, runs: Sequence[PolicyRun]) -> None:
    truths = [run.truth.knee_users or 1.0 for run in runs]
    knees = [real_knee(run.verdict.knee) for run in runs]
    errors = [abs((knee.users or 0.0) / true - 1) if knee else np.inf for true, knee in zip(truths, knees, strict=True)]
    found = [(run, knee, error) for run, knee, error in zip(runs, knees, errors, strict=True) if knee is not None]
    wrong = [not knee.provisional for _, knee, error in found if error > NEAR]
    cells = (
        len(runs),
        share(knee is not None for knee in knees),
        *(share(error <= bound for error in errors) for bound in (0.25, 0.15)),
        f"{np.median(errors):.1%}",
        share(covers(knee, run.truth.knee_users or 0.0) for run, knee, _ in found),
        share(knee.limit == run.truth.limit for run, knee, _ in found),
        _spread([run.found_s for run in runs], ".0f"),
        _spread([run.ended_s for run in runs], ".0f"),
        _spread([run.most_users / true for run, true in zip(runs, truths, strict=True)], ".2f"),
        f"{np.median([len(run.steps) for run in runs]):.0f}",
        share(not knee.provisional for _, knee, error in found if error <= NEAR),
        f"{sum(wrong)} of {len(wrong)}",
    )
    print_row(name, cells, 11)


def _spread(values: Sequence[float], form: str) -> str:
    """`MEDIAN/90TH PERCENTILE`."""
    return f"{np.median(values):{form}}/{np.quantile(values, 0.9):{form}}"


# -- the detector --------------------------------------------------------------------------------------------------------------

Detector = Callable[[Sequence[LadderLevel]], float | None]


@dataclass(frozen=True)
class Climb:
    """A simulated ladder and its levels as the detector gets them."""

    ladder: Ladder
    levels: tuple[LadderLevel, ...]

    @classmethod
    def of(cls, ladder: Ladder) -> Climb:
        return cls(ladder, shown(ladder))

    @property
    def truth(self) -> float:
        """N*; nan for a linear system."""
        return self.ladder.truth.knee_users or float("nan")


def product(levels: Sequence[LadderLevel]) -> float | None:
    knee = real_knee(judge(levels).knee)
    return None if knee is None else knee.users


def crossing_ungated(levels: Sequence[LadderLevel]) -> float | None:
    """The crossing of the low-load line and the capacity line, without the detector's conditions."""
    return crossing(curve_of(pooled(levels))).users


def broken_line_knee(levels: Sequence[LadderLevel]) -> float | None:
    """The break of a broken-line fit of goodput; None at the end of the ladder."""
    curve = curve_of(pooled(levels))
    found = broken_line(curve)
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


def knees(ladders: int = 600, seconds: int = 20, first_seed: int = 500_000) -> None:
    """Accuracy of knees on simulated ladders whose true knees are known: the product's detector, kneed and a broken-line fit.

    Closed queues of six kinds, 12 levels of 20 s up to 2.2 N*; the same systems up to 0.45 N*; linear systems. The truth is
    exact. Thresholds were tuned on seeds 0-299; these are 500,000 and up. kneed is needed by this benchmark only (`pip install
    kneed`)."""
    seeds, began_s = range(first_seed, first_seed + ladders // len(KINDS)), time.perf_counter()
    full = [Climb.of(ladder(kind, seed, level_s=seconds)) for seed in seeds for kind in KINDS]
    low = [Climb.of(ladder(kind, seed, top=0.45, level_s=seconds)) for seed in seeds for kind in KINDS]
    linear = [Climb.of(linear_ladder(first_seed + at, level_s=seconds)) for at in range(ladders // 2)]
    print(
        f"  {len(full)} ladders to 2.2 N*, {len(low)} to 0.45 N*, {len(linear)} linear; {seconds} s levels; seeds {first_seed}-"
        f"{seeds.stop - 1} (linear to {first_seed + ladders // 2 - 1}); simulated in {time.perf_counter() - began_s:.0f} s\n"
    )
    print_row("", ("in 25%", "in 15%", "median", "p90", "marks 0.45", "linear"), 11)
    detectors: dict[str, Detector | None] = {
        "this detector": product,
        "its crossing, without gates": crossing_ungated,
        "broken line on goodput": broken_line_knee,
        "kneed on goodput": kneed(lambda level: level.goodput_rps),
        "kneed on raw RPS": kneed(lambda level: level.throughput_rps or 0.0),
        "p95 over twice the base": twice_the_base,
    }
    for name, detect in detectors.items():
        if detect is None:
            print_row(name, ["not installed (pip install kneed)"])
            continue
        began_s = time.perf_counter()
        errors = [abs(users / climb.truth - 1) if (users := detect(climb.levels)) is not None else np.inf for climb in full]
        within = [share(error <= bound for error in errors) for bound in (0.25, 0.15)]
        marks = [share(detect(climb.levels) is not None for climb in climbs) for climbs in (low, linear)]
        worst = np.quantile(errors, 0.9, method="higher")
        print_row(name, (*within, f"{np.median(errors):.1%}", f"{worst:.1%}", *marks), 11)
        if detect is product:
            spent_ms = (time.perf_counter() - began_s) / (len(full) + len(low) + len(linear)) * 1000
    _by_kind(full)
    bends = [
        share((knee := judge(climb.levels).knee) is not None and knee.kind == "bend" for climb in each) for each in (low, linear)
    ]
    print(f"\n  bends (provisional) on ladders to 0.45 N*: {bends[0]}, on linear ones: {bends[1]}")
    print(f"  a verdict takes {spent_ms:.1f} ms")


def _by_kind(full: Sequence[Climb]) -> None:
    print()
    print_row("this, by kind", ("ladders", "knee", "within 25%", "median", "bias", "covered", "limit", "high"), 12)
    for kind in (*KINDS, "all"):
        climbs = [climb for climb in full if kind in (climb.ladder.kind, "all")]
        found = [(climb, knee) for climb in climbs if (knee := real_knee(judge(climb.levels).knee)) is not None]
        ratios = np.array([(knee.users or 0.0) / climb.truth for climb, knee in found])
        figures = (
            len(climbs),
            f"{len(found) / len(climbs):.1%}",
            f"{(np.abs(ratios - 1) <= NEAR).sum() / len(climbs):.1%}",
            f"{np.median(np.abs(ratios - 1)):.1%}",
            f"{np.median(ratios) - 1:+.1%}",
            share(covers(knee, climb.truth) for climb, knee in found),
            share(knee.limit == climb.ladder.truth.limit for climb, knee in found),
            share(knee.confidence == "high" for _, knee in found),
        )
        print_row(kind, figures, 12)


# -- imported ramps ------------------------------------------------------------------------------------------------------------

RAMP_KINDS: tuple[Kind, ...] = ("queue", "usl", "shedding", "timeouts")


@dataclass(frozen=True)
class RampVerdict:
    kind: Kind
    ramp_s: int
    hold_s: int
    truth: float
    verdict: KneeVerdict | None
    found: str
    """`knee`, `at_or_below`, `bend` or `nothing`."""


def _ramp(kind: Kind, seed: int) -> RampVerdict:
    ramp = ramp_history(kind, seed)
    assert ramp.truth.knee_users is not None
    marks = [(str(mark.kind), mark.finding.verdict) for mark in knee_marks(ramp.timeline) if isinstance(mark.finding, Knee)]
    bends = any(mark.kind == "bend" and mark.state != "retracted" for mark in ramp.timeline.marks.values())
    found, verdict = marks[-1] if marks else ("bend" if bends else "nothing", None)
    return RampVerdict(kind, ramp.ramp_s, ramp.hold_s, ramp.truth.knee_users, verdict, found)


def ramps(ramps: int = 400, first_seed: int = 910_000) -> None:
    """Knees of imported ramps: how often the 90% intervals contain N*, and the verdicts on ramps that cannot show a knee.

    An "at or below" is false if N* is more than 15% above its users. Thresholds were tuned on seeds 0-599.
    """
    count, began_s = ramps // len(RAMP_KINDS), time.perf_counter()
    with Pool(2) as pool:
        outcomes = pool.starmap(_ramp, [(kind, first_seed + at) for at in range(count) for kind in RAMP_KINDS], chunksize=5)
    print(f"  seeds {first_seed}-{first_seed + count - 1}; {time.perf_counter() - began_s:.0f} s\n")
    print_row(
        "", ("ramps", "knees", "hold N*", "within 25%", "width, median", "at or below", "of these false", "bends", "nothing")
    )
    groups: dict[str, list[RampVerdict]] = {
        "all": outcomes,
        **{kind: [each for each in outcomes if each.kind == kind] for kind in RAMP_KINDS},
        "ramps under 60 s": [each for each in outcomes if each.ramp_s < 60],
        "60 s and more": [each for each in outcomes if each.ramp_s >= 60],
        "followed by a hold": [each for each in outcomes if each.hold_s],
    }
    for name, of_it in groups.items():
        found = [(each.verdict, each.truth) for each in of_it if each.found == "knee" and each.verdict is not None]
        below = [(each.verdict, each.truth) for each in of_it if each.found == "at_or_below" and each.verdict is not None]
        widths = [((knee.users_high or np.nan) - (knee.users_low or np.nan)) / (knee.users or np.nan) for knee, _ in found]
        kinds = [share(each.found == wanted for each in of_it) for wanted in ("knee", "at_or_below", "bend", "nothing")]
        held = share(covers(knee, truth) for knee, truth in found)
        near = share(abs((knee.users or 0.0) / truth - 1) <= NEAR for knee, truth in found)
        false = share(truth > AT_OR_BELOW * (knee.users or 0.0) for knee, truth in below)
        width = f"{np.median(widths):.0%}" if widths else "-"
        print_row(name, (len(of_it), kinds[0], held, near, width, kinds[1], false, *kinds[2:]))


# -- services that change ------------------------------------------------------------------------------------------------------


class MovingOutcome:
    """The marks of one ladder, and whether they are right."""

    def __init__(self, world: World, seed: int) -> None:
        found = moving_ladder(world, seed)
        self.world, self.seed, marks = world, seed, knee_marks(found.timeline)
        ever = [each for each in found.timeline.journal if isinstance(each, Mark) and each.state != "retracted"]
        self.false = any(is_false(mark, found.truths) for mark in marks)
        self.false_ever = any(is_false(mark, found.truths) for mark in ever if mark.kind in ("knee", "at_or_below"))
        self.due = max(found.loads) >= 1.3 * found.truths[0]
        self.found = any(mark.kind == "knee" for mark in marks)
        knees = [mark.finding.verdict for mark in marks if isinstance(mark.finding, Knee)]
        self.covered = [any(covers(knee, truth) for truth in found.truths) for knee in knees]
        verdict = found.timeline.verdict
        knee = verdict.capacity.knee if verdict is not None else None
        up_to = [knee.users or 0.0] if knee is not None and knee.kind == "no_knee" else []
        self.beyond = [users > BEYOND * max(found.truths) for users in up_to]
        self.changes = len(verdict.regimes) > 1 if verdict is not None else False


def is_false(mark: Mark, knees: Sequence[float]) -> bool:
    """Whether a knee or "at or below" contradicts every N* that the service had."""
    users = mark.users or 0.0
    if mark.kind == "at_or_below":
        return all(knee > AT_OR_BELOW * users for knee in knees)
    return all(abs(users / knee - 1) > NEAR for knee in knees)


def moving(ladders: int = 1_000, still: int = 500, first_seed: int = 750_000) -> None:
    """False knees of simulated services that change while the load is stepped up.

    Capacity rises or falls, requests fail or stall, permanently or for a while, a neighbour uses a part of the machine, at a
    random time, or the service warms up until then, with and without a return to the first level. Sessions run through the
    product's live detectors. A knee is false if it is more than 25% from every N* that the service had (while it warms up: that
    of the start); an "at or below" if every N* is more than 15% above it. "No knee up to N users" is beyond the knee if N is
    more than 10% above every N*; its share is of these verdicts. Rules were tuned on seeds 0-599 and 10,000-13,399;
    700,000-700,999 were checked once; 720,000-749,999 were reported before."""
    worlds = WORLDS[1:]
    chosen = [(worlds[at % len(worlds)], first_seed + at) for at in range(ladders)]
    chosen += [("still", first_seed + at) for at in range(still)]
    began_s = time.perf_counter()
    with Pool(2) as pool:
        outcomes = pool.starmap(MovingOutcome, chosen, chunksize=10)
    print(f"  seeds {first_seed}-{first_seed + ladders - 1}; {time.perf_counter() - began_s:.0f} s\n")
    print_row("", ("ladders", "false", "false ever", "knees", "of those due", "covered", "changes found", "no knee beyond"))
    groups = {"all that change": [each for each in outcomes if each.world != "still"]}
    groups |= {world.replace("_", " "): [each for each in outcomes if each.world == world] for world in WORLDS}
    for name, of_it in groups.items():
        cells = (
            len(of_it),
            *(share(getattr(each, name) for each in of_it) for name in ("false", "false_ever", "found")),
            share(each.found for each in of_it if each.due),
            share(hit for each in of_it for hit in each.covered),
            share(each.changes for each in of_it),
            share(hit for each in of_it for hit in each.beyond),
        )
        print_row(name, cells)
    false = [f"{each.world} {each.seed}" for each in outcomes if each.false]
    print(f"\n  false: {', '.join(false) or 'none'}")


# -- neighbours ----------------------------------------------------------------------------------------------------------------

CHECK = NeighbourCheck(HostFacts(cpus=CORES), "server")


def neighbours(climbs: int = 500, first_seed: int = 510_000) -> None:
    """Knees of simulated services of known N* while other processes start and end, with and without the check for them.

    Half of the ladders end at 0.6 N*, so that any knee is false; half go to 2.5 N*, where a knee within 25% is right. Thresholds
    were chosen on recorded sessions; seeds 0-99 and 500,000-500,999 were checked once.
    """
    seeds = range(first_seed, first_seed + climbs)
    for reach in (0.6, 2.5):
        for busy in (0.0, 0.5, 1.0):
            for checks in (False, True):
                found = counts(seeds, reach, busy, checks=checks)
                how = "with the check" if checks else "without the check"
                reported = ", ".join(f"{what} {found[what]}" for what in ("right", "wrong", "none"))
                print(f"to {reach:g} N*, neighbours in {busy:.0%} of levels, {how:<22} {reported} of {len(seeds)}", flush=True)


def counts(seeds: Sequence[int], reach: float, busy_share: float, *, checks: bool) -> Counter[str]:
    """Number of ladders by outcome: `right` or `wrong` for a marked knee, `none`. Without the check, neighbours are unknown."""
    climbs = (crowded_climb(seed, reach, busy_share=busy_share) for seed in seeds)
    return Counter(_crowded_outcome(found, analyse(_crowded_levels(found, checks=checks))) for found in climbs)


def _crowded_levels(found: Crowded, *, checks: bool) -> tuple[LadderLevel, ...]:
    levels = []
    for at, (users, figures) in enumerate(zip(found.users, found.levels, strict=True)):
        level, goodput = disturbance_of(CHECK.withheld(figures) if checks else None)
        levels.append(ladder_level(float(users), figures, started_s=15.0 * at, disturbed=level, goodput_disturbed=goodput))
    return usable_levels(levels)


def _crowded_outcome(found: Crowded, verdict: CapacityVerdict) -> str:
    knee = verdict.knee
    if knee is None or knee.users is None or knee.kind not in ("knee", "at_or_below"):
        return "none"
    near = abs(knee.users / found.knee_users - 1) <= NEAR if knee.kind == "knee" else knee.users >= found.knee_users
    return "right" if near and found.users[-1] >= found.knee_users else "wrong"


# -- leaks ---------------------------------------------------------------------------------------------------------------------

TIMES = np.arange(1.0, 601.0)
CHECKED_AT_S: tuple[int, ...] = (*range(20, 121, 10), *range(180, 601, 60))
SETTLES_S = 4
MEMORY, FDS = LEAK_KINDS[0], LEAK_KINDS[1]


def leaks(services: int = 200, first_seed: int = 500_000) -> None:
    """Accuracy of leak detection on simulated services: wrong marks on healthy ones, and how soon leaks of known rates are
    reported.

    Ten minutes of each service at one user count, checked at the times at which a run checks: at 20, 30 ... 120 s, then each
    minute. Shapes and figures are random (lab/simulation/growth.py). Thresholds were tuned on seeds 0-399; these are 500,000 and
    up."""

    def row(name: str, kind: LeakKind, values: Callable[[np.random.Generator], NDArray[np.float64]]) -> None:
        generators = [np.random.default_rng(first_seed + at) for at in range(services)]
        found = [seconds for rng in generators if (seconds := first_reported_s(kind, values(rng))) is not None]
        soon = f"; after {np.median(found):.0f} s, 95% by {np.percentile(found, 95):.0f} s" if found else ""
        print(f"{name:<24} reported {len(found)} of {services}{soon}", flush=True)

    for name, shape in HEALTHY.items():
        row(f"healthy, {name}", MEMORY, lambda rng, shape=shape: shape(rng, TIMES))  # type: ignore[misc]
    for per_s in (0.0, 0.05, 0.5, 2.0):
        row(f"{per_s:g} descriptors/s", FDS, lambda rng, per_s=per_s: descriptors(rng, TIMES, per_s))  # type: ignore[misc]
    for per_s in (5e4, 2e5, 1e6, 5e6):
        row(f"{per_s / 1e6:g} MB/s", MEMORY, lambda rng, per_s=per_s: leaking(rng, TIMES, per_s))  # type: ignore[misc]


def first_reported_s(kind: LeakKind, values: NDArray[np.float64]) -> int | None:
    """Seconds of load after which a leak is first reported in the whole level, its last half or its last quarter; None: never."""
    for seconds in CHECKED_AT_S:
        times, seen = TIMES[SETTLES_S:seconds], values[SETTLES_S:seconds]
        begins = (len(seen) - max(1, round(share * len(seen))) for share in (1.0, 0.5, 0.25))
        if any(lasting_growth(times[begin:], seen[begin:], kind, WARM_UP_S) is not None for begin in begins):
            return seconds
    return None
