"""Ablation: which of the named numbers of the judgement change a verdict, and whether for the better.

    python -m lab.ablation --logs DIR [--count N] [--only WORD ...] [--out FILE]

Each number of `capexplorer.analysis` is moved in turn: to nothing and to a huge value, so that a comparison with it always has
the same result and its rule is off; then, if that changed anything, by 30% down and up. Sessions of `lab.population` (their logs
are kept in DIR), the recorded sessions and imported files are judged again with each move, causes included. What the live
detectors split and the autopilot chose stays. A number is tried on the sessions in which a function that names it was called.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.util
import math
import os
import pkgutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

import capexplorer.analysis
from capexplorer.analysis import capacity_marks
from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.analysis.epoch.epoch import epochs_of
from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.reanalysis import DETECTORS, Detected, reanalyse, without_detected
from capexplorer.model.events import Event, Mark
from capexplorer.model.timeline import Timeline
from capexplorer.session.importers import imported
from capexplorer.session.reader import open_session

from . import net
from .population.score import FAMILIES, commit, log_path, read_log, write_log
from .population.stated import Line, line
from .population.truth import Truth

RESULTS = Path(__file__).parent / "results" / "ablation.jsonl"
ROOT = Path(capexplorer.analysis.__file__).parent
OFF_MOST, MOVED_MOST = 6, 20
"""Changed sessions after which switching a rule off, and moving its number by 30%, has shown enough."""
CASE_S = 20
"""CPU seconds after which a session is given up: a loop without its bound."""


# -- the sessions --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    name: str
    events: Sequence[Event]
    truth: Truth | None = None
    """None: a recording, of which only its tests know the truth."""


def recorded() -> Iterator[Case]:
    for name, path in net.RECORDINGS.items():
        with open_session(path) as log:
            yield Case(f"recording {name}", list(log))
    for name, paths in net.FOREIGN.items():
        yield Case(f"foreign {name}", list(imported(paths, None, settling_s)))


def simulated(family: str, seed: int, logs: Path) -> Case:
    """A session of the population, from its log in the folder if it has one."""
    path = log_path(logs, family, seed)
    if not path.exists():
        write_log(path, FAMILIES[family].session(seed))
    session = read_log(path)
    return Case(f"{family} {seed}", session.events, session.truth)


# -- a verdict, and how right it is --------------------------------------------------------------------------------------------

Causes = Sequence[Mark]


def causes_of(case: Case) -> Causes:
    detector = CauseDetector()
    return [mark for event in case.events for mark in detector.process(event)]


def judged(case: Case, timeline: Timeline, causes: Causes) -> tuple[net.Frozen, int]:
    """What this version says of a case, as `lab.net` states it, and its score."""
    bare = without_detected(timeline)
    for found in sorted(reanalyse(timeline, (capacity, *DETECTORS[1:]), causes).findings, key=lambda each: each.t_s):
        bare.apply(found)
    said = net.of_timeline(case.name, bare)
    return said, 0 if case.truth is None else score(line("", 0, case.truth, bare, is_live=False))


def capacity(timeline: Timeline) -> Sequence[Detected]:
    """As `reanalysis.capacity`, without the verdict at the end of each level, by which marks have their times."""
    found: list[Detected] = []
    for epoch in epochs_of(timeline):
        if (verdict := epoch.verdict) is not None:
            found += [verdict, *capacity_marks.of_verdict(verdict), *capacity_marks.recoveries(epoch)]
    return found


def score(found: Line) -> int:
    """1 for a right knee, 1 more if its interval holds the truth; -3 for a false one, -1 for each wrong statement beside it."""
    right = 0 if not found.is_found else -3 if found.is_false else 1 + bool(found.covers)
    return right - len(found.wrongly_said)


# -- the constants -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    module: str
    name: str
    value: float
    used: frozenset[tuple[str, int]]
    """(file, first line) of each function that names it."""
    kept: bool = False
    """Whether it is also named outside functions, so that moving it does not reach every use."""
    at: tuple[tuple[str, str], ...] = ()
    """(module, name) of each place that it was imported to, its own included."""


def constants() -> list[Constant]:
    """All module constants with a number, in the order of files."""
    trees = {}
    for found in pkgutil.walk_packages([str(ROOT)], f"{capexplorer.analysis.__name__}."):
        module = importlib.import_module(found.name)
        if module.__file__ and not found.ispkg:
            trees[found.name] = ast.parse(Path(module.__file__).read_text())
    names = {(module, name): value for module, tree in trees.items() for name, value in numbers_of(module, tree)}
    places: dict[tuple[str, str], list[tuple[str, str]]] = {key: [key] for key in names}
    for importer in [each for each in sys.modules if each.split(".")[0] in ("capexplorer", "lab")]:
        for name, value in list(vars(sys.modules[importer]).items()):
            for origin in imported_from(importer).get(name, ()):
                if origin in names and names[origin] is value:
                    places[origin].append((importer, name))
    uses = {key: list(uses_of(key, places[key], trees)) for key in names}
    return [
        Constant(*key, value, frozenset(each for each in uses[key] if each), None in uses[key], tuple(places[key]))
        for key, value in names.items()
    ]


def numbers_of(module: str, tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name) and each.id.lstrip("_").isupper():
                    value = getattr(sys.modules[module], each.id)
                    if isinstance(value, int | float) and not isinstance(value, bool):
                        yield each.id, value


@cache
def imported_from(module: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    """By name in the module: the (module, name) it was imported from."""
    found: dict[str, list[tuple[str, str]]] = {}
    file = getattr(sys.modules[module], "__file__", None)
    tree = ast.parse(Path(file).read_text()) if file and file.endswith(".py") else ast.Module([], [])
    package = module if file and Path(file).name == "__init__.py" else module.rpartition(".")[0]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            base = (
                importlib.util.resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            )
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, []).append((base, alias.name))
    return found


def uses_of(
    key: tuple[str, str], places: Sequence[tuple[str, str]], trees: Mapping[str, ast.Module]
) -> Iterator[tuple[str, int] | None]:
    """The outermost functions that name the constant, as (file, first line); None for a use outside functions."""
    for module, name in places:
        if module not in trees:
            continue
        file = str(sys.modules[module].__file__)
        for node in functions(trees[module]):
            body = node.body if isinstance(node, ast.FunctionDef) else [node]
            named = any(
                isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
                for part in body
                for each in ast.walk(part)
            )
            if named:
                yield (
                    (file, min([node.lineno, *(each.lineno for each in node.decorator_list)]))
                    if isinstance(node, ast.FunctionDef)
                    else None
                )


def functions(tree: ast.Module | ast.ClassDef) -> Iterator[ast.stmt]:
    """Outermost functions and methods, and all other statements."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node)
        else:
            yield node


MOVES = ("off low", "off high", "-30%", "+30%")


def moved(value: float, move: str) -> float:
    """The value moved; a whole number by at least one."""
    match move:
        case "off low":
            return type(value)(0)
        case "off high":
            return 10**9 if isinstance(value, int) else 1e9
    new = value * (0.7 if move == "-30%" else 1.3)
    return new if isinstance(value, float) else (math.floor(new) if move == "-30%" else math.ceil(new))


# -- ablation ------------------------------------------------------------------------------------------------------------------


@dataclass
class Known:
    """A case with what this version says of it, and which functions that took."""

    case: Case
    timeline: Timeline
    causes: Causes
    said: net.Frozen
    score: int
    for_causes: frozenset[tuple[str, int]]
    """Functions of analysis that were called for the causes."""
    for_verdict: frozenset[tuple[str, int]]


class Change(msgspec.Struct, frozen=True):
    """What a move changed: numbers of cases."""

    tried: int
    kinds: dict[str, int]
    """By `lab.net`'s kind of change; "error": an exception or no end."""
    better: int
    worse: int
    cases: tuple[str, ...]
    """Some of the changed ones."""


class Row(msgspec.Struct, frozen=True):
    module: str
    name: str
    value: float
    reached: int
    """Number of cases that called a function which names it."""
    moves: dict[str, Change]
    incomplete: bool = False
    """Whether it is also named outside functions, where a move does not reach."""
    commit: str = ""


def known(case: Case) -> Known:
    timeline = Timeline(case.events)
    with called() as for_causes:
        causes = causes_of(case)
    with called() as for_verdict:
        said, scored = judged(case, timeline, causes)
    forget()
    return Known(case, timeline, causes, said, scored, frozenset(for_causes), frozenset(for_verdict))


@contextmanager
def called() -> Iterator[set[tuple[str, int]]]:
    """The functions of analysis that are called meanwhile."""
    found: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        found &= {each for each in found if each[0].startswith(str(ROOT))}


def forget() -> None:
    """Empty what analysis keeps of a level."""
    for module in [each for name, each in sys.modules.items() if name.startswith(capexplorer.analysis.__name__)]:
        for value in vars(module).values():
            if isinstance(value, WeakKeyDictionary):
                value.clear()


def tried(constant: Constant, cases: Sequence[Known]) -> Row:
    """All moves of a constant; 30% only if switching it off changed anything."""
    reached = [each for each in cases if constant.kept or constant.used & (each.for_causes | each.for_verdict)]
    moves: dict[str, Change] = {}
    for move in MOVES:
        value = moved(constant.value, move)
        if value == constant.value or ("%" in move and not any(each.kinds for each in moves.values())):
            continue
        for module, name in constant.at:
            setattr(sys.modules[module], name, value)
        moves[move] = changed(constant, reached, MOVED_MOST if "%" in move else OFF_MOST)
        for module, name in constant.at:
            setattr(sys.modules[module], name, constant.value)
    short = constant.module.removeprefix(f"{capexplorer.analysis.__name__}.")
    return Row(short, constant.name, constant.value, len(reached), moves, constant.kept)


def changed(constant: Constant, cases: Sequence[Known], most: int) -> Change:
    kinds, better, worse, names, count = Counter[str](), 0, 0, list[str](), 0
    for each in cases:
        if len(names) >= most:
            break
        count += 1
        forget()
        signal.setitimer(signal.ITIMER_VIRTUAL, CASE_S)
        try:
            causes = causes_of(each.case) if constant.kept or constant.used & each.for_causes else each.causes
            found, scored = judged(each.case, each.timeline, causes)
            kind = next((kind for kind, _, _ in net.differences([each.said], [found])), None)
            gain = scored - each.score
        except Exception:  # noqa: BLE001 - whatever a number out of its range breaks
            kind, gain = "error", 0
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if kind:
            kinds[kind] += 1
            better, worse = better + (gain > 0), worse + (gain < 0)
            names.append(f"{each.case.name}{' better' if gain > 0 else ' worse' if gain < 0 else ''}: {kind}")
    return Change(count, dict(kinds), better, worse, tuple(names[:12]))


# -- the commands --------------------------------------------------------------------------------------------------------------

_cases: list[Known] = []
"""Those of this process, which its children share."""


def row_of(constant: Constant) -> Row:
    signal.signal(signal.SIGVTALRM, given_up)
    return tried(constant, _cases)


def given_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def ablate(logs: Path, seeds: range, words: Sequence[str], processes: int, file: Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    chosen = chosen_by(words or [""], constants())
    with get_context("fork").Pool(processes) as pool:
        cases = pool.starmap(partial(simulated, logs=logs), [(name, seed) for seed in seeds for name in FAMILIES], chunksize=4)
    _cases.extend(map(known, [*recorded(), *cases]))
    print(f"{len(chosen)} numbers, {len(_cases)} sessions", flush=True)
    gc.freeze()
    now = commit()
    with file.open("ab") as out, get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        for row in pool.imap(row_of, chosen, chunksize=1):
            out.write(msgspec.json.encode(msgspec.structs.replace(row, commit=now)) + b"\n")
            out.flush()
            print(shown(row), flush=True)


def chosen_by(words: Sequence[str], found: Sequence[Constant]) -> list[Constant]:
    """Constants with one of the words in `module.NAME`, in the order of the words."""
    return list(
        {(each.module, each.name): each for word in words for each in found if word in f"{each.module}.{each.name}"}.values()
    )


def shown(row: Row) -> str:
    moves = [
        f"{move} {sum(each.kinds.values())} of {each.tried} (+{each.better} -{each.worse}) {each.kinds or ''}"
        for move, each in row.moves.items()
    ]
    return f"{row.module}.{row.name} {row.value:g}{' (also outside functions)' * row.incomplete}: {'; '.join(moves)}"


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lab.ablation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--logs", type=Path, required=True, metavar="DIR", help="folder that keeps the simulated sessions")
    parser.add_argument("--first", type=int, default=0, help="first of the tuning seeds")
    parser.add_argument("--count", type=int, default=4, help="seeds of each family")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="numbers with one of these words in `module.NAME`")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="to which rows are added")
    options = parser.parse_args(argv)
    os.nice(10)
    ablate(options.logs, range(options.first, options.first + options.count), options.only, options.processes, options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
