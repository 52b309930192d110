"""The net: what every corpus of sessions is judged to be, frozen as one verdict a line, and what a change alters in it.

    python -m lab.net freeze FILE [--full] [CORPUS ...]   judge the corpora with this checkout
    python -m lab.net diff OLD NEW                        what changed, by kind; exit code 1 if anything did
    python -m lab.net check                               judge again what lab/net.jsonl contains, and compare (`make net`)
    python -m lab.net log CORPUS NUMBER                   the log of a simulated case, to compare between two checkouts

Recorded sessions and imported files are read; all others are simulated by the whole product in virtual time. A line has the
verdict's sentence, what the summary states (knees, rates, regimes, marks by kind), and two digests: of the summary, and of all
lines of the log (a golden log). Seeds are those that reports use, so a rule must not be tuned by looking at these lines.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from capexplorer import paths
from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.analysis.reanalysis import detect
from capexplorer.model.events import Event, Mark
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import json as json_report
from capexplorer.report.summary import summarise
from capexplorer.session.codec import encode
from capexplorer.session.importers import imported
from capexplorer.session.reader import open_session
from lab.simulation.ladders import KINDS, Kind, ladder, linear_ladder, random_system
from lab.simulation.moving import WORLDS, moving_ladder
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import run
from lab.simulation.ramps import ramp_history
from lab.trials.knees.services import services, started
from lab.trials.knees.trial import LEVEL_S, RUNGS, WITHOUT_KNEE_USERS

from .simulation.ladders import shown
from .simulation.moving import RAMPED_KINDS, moving_rates, ramped_rates, steady_rate
from .simulation.virtual import VirtualRates, VirtualRun, linear_system, system_of

FROZEN = Path(__file__).with_suffix(".jsonl")
DATA = Path(__file__).parents[1] / "tests" / "data"
RAMP_KINDS: tuple[Kind, ...] = ("queue", "usl", "shedding", "timeouts")
EXPLORED_S = 900
LINEAR_MOST_USERS = 400
STATED = ("knees", "no_knee_up_to_users", "rates", "slo", "recoveries", "regimes", "first_endpoint")
"""Keys of the summary that a line repeats, without the evidence of each."""


class Frozen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    case: str
    """`CORPUS NUMBER NAME`."""
    verdict: str
    """The sentence; of a ladder that is judged without a session, the kind of its knee."""
    stated: dict[str, Any] = {}
    """Of STATED, what is not empty; numbers to six digits."""
    marks: dict[str, int] = {}
    """Number of current marks by kind."""
    summary: str = ""
    """Digest of the whole summary."""
    log: str = ""
    """Digest of all lines of the log; empty: the case was read from a file."""


@dataclass(frozen=True)
class Session:
    name: str
    timeline: Timeline
    events: Sequence[Event] = ()
    """Its log; empty: the session was read from a file."""


@dataclass(frozen=True)
class Climb:
    """The levels of a ladder, which is judged without a session."""

    name: str
    levels: Sequence[LadderLevel]


@dataclass(frozen=True)
class Corpus:
    """Cases of one kind, by number."""

    case: Callable[[int], Session | Climb]
    few: int
    """Number of cases in the frozen file."""
    all: int
    """Number of cases with `--full`."""


def frozen(corpus: str, number: int) -> Frozen:
    found = CORPORA[corpus].case(number)
    case = f"{corpus} {number} {found.name}"
    if isinstance(found, Climb):
        knee = judge(found.levels).knee
        stated = {} if knee is None else {"knee": rounded(msgspec.to_builtins(knee))}
        return Frozen(case=case, verdict="none" if knee is None else knee.kind, stated=stated)
    return of_timeline(case, found.timeline, found.events)


def of_timeline(case: str, timeline: Timeline, events: Sequence[Event] = ()) -> Frozen:
    """`events`: the log; empty: it was read from a file."""
    summary = json_report.render(summarise(timeline))
    whole: dict[str, Any] = msgspec.json.decode(summary)
    current = (each for each in timeline.marks.values() if isinstance(each, Mark) and each.state != "retracted")
    return Frozen(
        case=case,
        verdict=whole["verdict"] or "",
        stated={key: rounded(without_evidence(whole[key])) for key in STATED if whole.get(key)},
        marks=dict(sorted(Counter(each.kind for each in current).items())),
        summary=digest([summary]),
        log=digest(map(encode, events)) if events else "",
    )


def without_evidence(value: Any) -> Any:
    if isinstance(value, list):
        return [without_evidence(each) for each in value]
    return {key: each for key, each in value.items() if key != "evidence"} if isinstance(value, dict) else value


def rounded(value: Any) -> Any:
    """The value with all its numbers to six significant digits, without what is null."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case list():
            return [rounded(each) for each in value]
        case dict():
            return {key: rounded(each) for key, each in value.items() if each is not None}
    return value


def digest(lines: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line + b"\n")
    return found.hexdigest()[:16]


# -- the corpora ---------------------------------------------------------------------------------------------------------------

RECORDINGS: Mapping[str, Path] = {
    **paths.sample_sessions(),
    **{path.stem: path for path in sorted((DATA / "sessions").glob("*.jsonl"))},
}
FOREIGN: Mapping[str, Sequence[Path]] = {
    **{path.stem: [path] for path in sorted((DATA / "tables").glob("*.csv"))},
    **{path.stem: [path] for path in sorted((DATA / "histories").glob("*.csv")) if not path.stem.startswith("soy-a")},
    "soy-a-holds": sorted((DATA / "histories").glob("soy-a*.csv")),
}
SERVICES = tuple(services(6))
"""Those of lab/results/knees-corpus.jsonl."""


def recording(number: int) -> Session:
    name = list(RECORDINGS)[number]
    with open_session(RECORDINGS[name]) as log:
        return Session(name, Timeline(log))


def foreign(number: int) -> Session:
    name = list(FOREIGN)[number]
    timeline = Timeline(imported(FOREIGN[name], None, settling_s))
    for found in detect(timeline):
        timeline.apply(found)
    return Session(name, timeline)


def full_ladder(number: int) -> Climb:
    kind, seed = KINDS[number % len(KINDS)], 500_000 + number // len(KINDS)
    return Climb(f"{kind} {seed}", shown(ladder(kind, seed)))


def low_ladder(number: int) -> Climb:
    kind, seed = KINDS[number % len(KINDS)], 500_000 + number // len(KINDS)
    return Climb(f"{kind} {seed}", shown(ladder(kind, seed, top=0.45)))


def straight_ladder(number: int) -> Climb:
    return Climb(f"{500_000 + number}", shown(linear_ladder(500_000 + number)))


def ramp(number: int) -> Session:
    kind, seed = RAMP_KINDS[number % len(RAMP_KINDS)], 910_000 + number
    return Session(f"{kind} {seed}", ramp_history(kind, seed).timeline)


def knees_corpus(number: int) -> Session:
    service = SERVICES[number]
    session = VirtualRun(started(service))
    top = service.knees[0] if service.knees else WITHOUT_KNEE_USERS
    session.climb([max(1, round(rung * top)) for rung in RUNGS], LEVEL_S)
    return ended(f"{service.name} {service.seed}", session)


def moving(number: int) -> Session:
    found = moving_ladder(WORLDS[number % len(WORLDS)], 750_000 + number)
    return Session(f"{found.world} {found.seed}", found.timeline, found.session.sink.take())


def rates(number: int) -> Session:
    found = moving_rates(WORLDS[number % len(WORLDS)], 994_000 + number)
    return Session(f"{found.world} {found.seed}", found.timeline, found.session.sink.take())


def ramped(number: int) -> Session:
    kind = RAMPED_KINDS[number % len(RAMPED_KINDS)]
    found = ramped_rates(kind, 994_000 + number)
    return Session(f"{kind} {found.seed}", found.timeline, found.session.sink.take())


def steady(number: int) -> Session:
    found = steady_rate(994_000 + number)
    return Session(f"{found.seed}", found.timeline, found.session.sink.take())


def autopilot(number: int) -> Session:
    """Explorations by users; every seventh of a system that never saturates."""
    kind, seed = KINDS[number % len(KINDS)], 670_000 + number
    if number % 7 == 6:
        system, _, rng = linear_system(seed)
        session = VirtualRun(run(system, rng), max_users=LINEAR_MOST_USERS)
    else:
        system, _, rng = system_of(kind, seed)
        session = VirtualRun(run(system, rng))
    session.explore(EXPLORED_S)
    return ended(f"{'linear' if system.linear else kind} {seed}", session)


def rate_autopilot(number: int) -> Session:
    kind, seed = RAMPED_KINDS[number % len(RAMPED_KINDS)], 670_000 + number
    system, _ = random_system(kind, np.random.default_rng([seed, 4]))
    session = VirtualRates(OpenRun(system, np.random.default_rng([seed, 5])))
    session.explore(EXPLORED_S)
    return ended(f"{kind} {seed}", session)


def ended(name: str, session: VirtualRun | VirtualRates) -> Session:
    session.end()
    return Session(name, session.timeline, session.sink.take())


CORPORA: Mapping[str, Corpus] = {
    "recordings": Corpus(recording, len(RECORDINGS), len(RECORDINGS)),
    "foreign": Corpus(foreign, len(FOREIGN), len(FOREIGN)),
    "ladders": Corpus(full_ladder, 60, 600),
    "low-ladders": Corpus(low_ladder, 30, 600),
    "linear-ladders": Corpus(straight_ladder, 30, 300),
    "ramps": Corpus(ramp, 40, 400),
    "knees-corpus": Corpus(knees_corpus, len(SERVICES), len(SERVICES)),
    "moving": Corpus(moving, 90, 1_400),
    "rates": Corpus(rates, 54, 515),
    "ramped-rates": Corpus(ramped, 16, 120),
    "steady-rates": Corpus(steady, 20, 240),
    "autopilot": Corpus(autopilot, 63, 300),
    "rate-autopilot": Corpus(rate_autopilot, 24, 120),
}


# -- the commands --------------------------------------------------------------------------------------------------------------


def judged(corpora: Sequence[str], full: bool) -> list[Frozen]:
    """All cases of these corpora, in their order, by two processes."""
    chosen = [(name, number) for name in corpora for number in range(CORPORA[name].all if full else CORPORA[name].few)]
    with Pool(2) as pool:
        return pool.starmap(frozen, chosen, chunksize=4)


def read(path: Path) -> list[Frozen]:
    return [msgspec.json.decode(line, type=Frozen) for line in path.read_bytes().splitlines()]


def write(path: Path, lines: Sequence[Frozen]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def differences(old: Sequence[Frozen], new: Sequence[Frozen]) -> Iterator[tuple[str, str, str]]:
    """(kind of change, case, what was and is) of each case that changed; the kind is the first that applies:

    `gone`, `new`, `kind` (what is found is another thing), `value` (the same things with other figures), `marks`, `sentence`,
    `summary` (something else of the export) or `log` (its lines alone).
    """
    before, after = {each.case: each for each in old}, {each.case: each for each in new}
    for case in {**before, **after}:
        was, now = before.get(case), after.get(case)
        if was == now:
            continue
        if was is None or now is None:
            yield ("new" if was is None else "gone"), case, (now or cast(Frozen, was)).verdict
        elif kinds(was.stated) != kinds(now.stated):
            yield "kind", case, f"{was.verdict}\n      {now.verdict}"
        elif was.stated != now.stated:
            yield "value", case, f"{was.verdict}\n      {now.verdict}"
        elif was.marks != now.marks:
            yield "marks", case, f"{was.marks}\n      {now.marks}"
        elif was.verdict != now.verdict:
            yield "sentence", case, f"{was.verdict}\n      {now.verdict}"
        else:
            yield ("summary" if was.summary != now.summary else "log"), case, now.verdict


def kinds(value: Any) -> Any:
    """The value with each number replaced by its type: two of the same shape state the same things."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return "number"
        case list():
            return [kinds(each) for each in value]
        case dict():
            return {key: kinds(each) for key, each in value.items()}
    return value


def report(old: Sequence[Frozen], new: Sequence[Frozen]) -> int:
    found = list(differences(old, new))
    for kind, count in Counter(kind for kind, _, _ in found).most_common():
        print(f"{kind}: {count}")
        for _, case, words in (each for each in found if each[0] == kind):
            print(f"  {case}\n      {words}")
    print(f"{len(new)} cases, {len(found)} changed")
    return 1 if found else 0


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.net", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    freeze = commands.add_parser("freeze", help="judge the corpora and write one verdict a line")
    freeze.add_argument("file", type=Path)
    freeze.add_argument("corpora", nargs="*", metavar="CORPUS", help=f"of {', '.join(CORPORA)}")
    freeze.add_argument("--full", action="store_true", help="all cases of each corpus")
    diff = commands.add_parser("diff", help="what changed between two files")
    diff.add_argument("old", type=Path)
    diff.add_argument("new", type=Path)
    commands.add_parser("check", help=f"judge the corpora and compare with {FROZEN.name}")
    log = commands.add_parser("log", help="print the log of one simulated case")
    log.add_argument("corpus", choices=CORPORA)
    log.add_argument("number", type=int)
    options = parser.parse_args(argv)
    match options.command:
        case "freeze":
            write(options.file, judged(options.corpora or list(CORPORA), options.full))
        case "diff":
            return report(read(options.old), read(options.new))
        case "check":
            return report(read(FROZEN), judged(list(CORPORA), full=False))
        case "log":
            case = CORPORA[options.corpus].case(options.number)
            for event in case.events if isinstance(case, Session) else ():
                sys.stdout.buffer.write(encode(event) + b"\n")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
