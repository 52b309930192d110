"""Real services that change while they are explored, and which marks are right (`make moving`)."""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from capexplorer.model.events import Mark, Verdict
from capexplorer.model.findings import AtOrBelow, Knee, RateCapacityFinding
from capexplorer.model.level import Level
from capexplorer.model.verdicts import RateCapacity
from lab.kit.programs import missing
from lab.kit.runs import LAB, Ran, headless
from lab.kit.tables import filled, table
from lab.trial import Judged, Result, Trial, commits, not_right, rows_of
from lab.trials.faults.trial import SEVERE, current_of, relevant, toml

TIMEOUT_S = 300.0
LOCUSTFILE = "steps.py"
"""Locustfile of rows with long tasks, in the folder of the profile."""

Client = Literal["fast", "requests"]
CLIENTS: tuple[Client, ...] = get_args(Client)

NEAR = 0.15
"""Relative error within which a knee or a capacity is right."""

LATE_S = 3.0
"""Seconds by which a change may be noticed late. A regime that overlaps the time of a truth by less is not its own."""

QUEUES = (
    "worker_pool_exhausted", "lock_or_pool_limit", "queue_growth", "rate_limit", "think_time_limited", "not_saturated",
    "noisy_neighbours",
)  # fmt: skip
"""Bottlenecks that may be marked in every row: requests queue, think time is the limit below the knee, the machine may be
busy."""

Axis = Literal["users", "rates"]
AXES: tuple[Axis, ...] = get_args(Axis)

Param = str | int | float


CLEAN = 0.01
"""Failure ratio up to which a level is clean."""


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A knee in users, or a capacity in 1/s, that the service has by arithmetic, and when, in seconds from the first request."""

    value: float
    from_s: float = 0.0
    until_s: float = math.inf

    def overlaps(self, from_s: float, until_s: float) -> bool:
        """Whether the service had it for longer than LATE_S between these seconds from the first request."""
        return min(until_s, self.until_s) - max(from_s, self.from_s) > LATE_S

    def __str__(self) -> str:
        from_s = f" from {self.from_s:g} s" if self.from_s else ""
        until_s = f" until {self.until_s:g} s" if self.until_s < math.inf else ""
        return f"{self.value:g}{from_s}{until_s}"


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One service that changes. By default the target is `targets/moving` with 8 workers that sleep 100 ms, and users think
    for 0.2 s on average: the capacity is 80/s and N* = 24. At offered rates there is no think time."""

    name: str
    what: str
    """The service, its change, and the arithmetic of its knees or capacities, in one line."""
    plan: str
    change: str = "none"
    """A name of `lab/targets/moving/serve.py`."""
    at_s: float = 0.0
    """Seconds from the first request to the change."""
    for_s: float = 0.0
    """Duration of the change; 0: it is permanent."""
    knees: tuple[Truth, ...] = ()
    """Every N* of the service, before and after the change; empty: no knee may be marked."""
    needs_knee: bool = False
    """A knee must be found."""
    capacities: tuple[Truth, ...] = ()
    """For rows that offer rates: every capacity that may be marked."""
    departs_from_per_s: float | None = None
    """Rate from which a service refuses some requests, since arrivals of a Poisson process come in clusters; None: from its
    capacity."""
    needs_capacity: bool = False
    marked: tuple[str, ...] = ()
    """Ids or kinds of marks (causes, `shift`), at least one of which must be marked at the end."""
    allowed: tuple[str, ...] = ()
    """Bottlenecks, and causes of severity error, that may be marked, too."""
    stated: tuple[str, ...] = ()
    """Of these ids of marks and kinds of `stated`, at least one."""

    target: str = "moving"
    params: dict[str, Param] = {}
    path: str = "/work"
    think_s: tuple[float, float] = (0.1, 0.3)
    steps: int = 0
    """Requests of one task, with sleeps of `think_s` inside it; 0: tasks of one request, with waits between them."""
    needs: tuple[str, ...] = ()
    """Programs that the service needs."""

    @property
    def axis(self) -> Axis:
        """Whether its plan has user counts or offered rates."""
        return "rates" if self.plan.startswith("rate") else "users"


# -- the judge -----------------------------------------------------------------------------------------------------------------


def judged(row: Row, ran: Ran) -> Judged:
    found = judge(row, ran.marks, ran.timeline.levels, ran.timeline.verdict)
    bad_end = () if ran.exit_code in (0, 4) else (f"exit code {ran.exit_code}",)
    ever = [mark for mark in ran.marks if mark.state != "retracted"]
    figures = {
        "marked": sorted({mark.id for mark in current_of(ran.marks)}),
        "once": sorted({*_false(row, ever, ran.timeline.levels)}),
        "host_cpu_ratio": ran.median("host_cpu_ratio"),
    }
    return Judged(missing=found.missing, wrong=(*found.wrong, *bad_end), figures=figures)


def judge(row: Row, marks: Sequence[Mark], levels: Sequence[Level] = (), verdict: Verdict | None = None) -> Judged:
    current = current_of(marks)
    marked = {name for mark in current for name in (mark.id, mark.kind)}
    wanted = (
        (row.needs_knee, ("knee",), marked),
        (row.needs_capacity, ("capacity",), {each.kind for _, each in _capacities(current)}),
        (bool(row.marked), row.marked, marked),
        (bool(row.stated), row.stated, marked | stated(verdict)),
    )
    return Judged(
        missing=tuple(" or ".join(names) for is_wanted, names, found in wanted if is_wanted and not found & {*names}),
        wrong=(*_false(row, current, levels), *_blames(row, current), *_below_clean(row, current, levels)),
    )


def stated(verdict: Verdict | None) -> set[str]:
    """The kind of its knee, how the service behaves beyond its capacity (`Overload.kind`), and `fault` or `changed` for each
    change of the service that no step of load explains."""
    if verdict is None:
        return set()
    rates = verdict.rates
    regimes = (*verdict.regimes, *(rates.regimes if rates is not None else ()))
    overload = rates.capacity.overload if rates is not None and rates.capacity is not None else None
    changes = {"fault" if each.began == "failures" else "changed" for each in regimes if each.inside}
    return changes | {each.kind for each in (verdict.capacity.knee, overload) if each is not None}


def _false(row: Row, marks: Sequence[Mark], levels: Sequence[Level]) -> Iterator[str]:
    """Knees in users and capacities in 1/s that the service did not have when they were marked."""
    began_s = levels[0].started_s if levels else 0.0  # the first request: a service may take 10 s to start
    for mark in marks:
        if isinstance(mark.finding, Knee | AtOrBelow) and not _is_right(row, mark.t_s - began_s, began_s, mark.finding):
            yield f"knee {mark.finding.verdict.users or 0.0:.3g}"
    for at_s, found in _capacities(marks):
        if not _is_right_rate(row, at_s - began_s, found):
            yield f"{found.kind} {found.per_s:.3g}"


def _capacities(marks: Sequence[Mark]) -> list[tuple[float, RateCapacity]]:
    return [(mark.t_s, mark.finding.capacity) for mark in marks if isinstance(mark.finding, RateCapacityFinding)]


def _is_right(row: Row, at_s: float, began_s: float, found: Knee | AtOrBelow) -> bool:
    """Whether a knee that was marked `at_s` after the first request is near one that the service had in the time that it
    describes."""
    verdict = found.verdict
    users = verdict.users or 0.0
    from_s = 0.0 if verdict.since_s is None else verdict.since_s - began_s
    until_s = at_s if verdict.until_s is None else min(at_s, verdict.until_s - began_s)
    true = [truth.value for truth in row.knees if truth.overlaps(from_s, until_s)]
    if isinstance(found, AtOrBelow):
        return any(knee <= users * (1 + NEAR) for knee in true)
    return any(abs(users / knee - 1) <= NEAR for knee in true)


def _is_right_rate(row: Row, at_s: float, found: RateCapacity) -> bool:
    """Whether a capacity that was marked `at_s` after the first request is near one that the service had until then, or a bound
    not far below all of them."""
    true = [truth.value for truth in row.capacities if truth.overlaps(0.0, at_s)]
    if found.kind == "capacity":
        return any(abs(found.per_s / rate - 1) <= NEAR for rate in true)
    if found.kind == "at_or_below":
        return any(rate <= (found.high_per_s or 0.0) * (1 + NEAR) for rate in true)
    least = [row.departs_from_per_s] if row.departs_from_per_s is not None else true
    return any(rate <= found.per_s * (1 + NEAR) for rate in least)


def _blames(row: Row, current: Sequence[Mark]) -> list[str]:
    true = {*QUEUES, *row.allowed, *row.marked}
    blames = [mark for mark in relevant(current) if mark.id not in true]
    return [mark.id for mark in blames if mark.kind != "cause" or mark.severity in SEVERE]


def _below_clean(row: Row, current: Sequence[Mark], levels: Sequence[Level]) -> list[str]:
    """Capacities below 0.9 of the goodput of a clean level; none in rows whose capacity changes."""
    if len(row.knees) > 1:
        return []
    settled = [level.figures for level in levels if level.figures.settled]
    best = max((each.goodput_rps or 0.0 for each in settled if (each.failure_ratio or 0) <= CLEAN), default=0.0)
    claimed = [mark.finding.verdict.capacity_rps for mark in current if isinstance(mark.finding, Knee)]
    return [f"below_clean {rate:.3g} {best:.3g}" for rate in claimed if rate is not None and rate < 0.9 * best]


# -- one run -------------------------------------------------------------------------------------------------------------------


def prepared(row: Row, client: Client, folder: Path) -> Path:
    """Write the row's profile, and its locustfile if it has one, into `folder`; returns the path of the profile."""
    profile = folder / f"{row.name}.toml"
    profile.write_text(profile_of(row, client), encoding="utf-8")
    if row.steps:
        (folder / LOCUSTFILE).write_text(locustfile_of(row, client), encoding="utf-8")
    return profile


def profile_of(row: Row, client: Client) -> str:
    times = {name: value for name, value in (("at_s", row.at_s), ("for_s", row.for_s)) if value or row.target == "moving"}
    params = {**row.params, **({"change": row.change} if row.target == "moving" else {}), **times}
    one_request = {"client": client, "wait_s": {"between": list(row.think_s)}, "task": [{"name": row.path}]}
    users = {"locustfile": LOCUSTFILE} if row.steps else one_request
    tables = {"title": row.what, "target": row.target, "params": params, "users": users, "guards": {"max_users": 200}}
    return "".join(f"{key} = {toml(value)}\n" for key, value in tables.items())


def locustfile_of(row: Row, client: Client) -> str:
    """A locustfile whose task sends `steps` requests with sleeps between them."""
    base = "FastHttpUser" if client == "fast" else "HttpUser"
    least_s, most_s = row.think_s
    return (
        "import random\nimport time\n\n"
        f"from locust import {base}, task\n\n\n"
        f"class Visitor({base}):\n"
        "    @task\n    def visit(self):\n"
        f"        for _ in range({row.steps}):\n"
        f'            self.client.get("{row.path}")\n'
        f"            time.sleep(random.uniform({least_s}, {most_s}))\n"
    )


# -- the trial -----------------------------------------------------------------------------------------------------------------


class Moving(Trial[Row]):
    """All rows with both clients. The services sleep rather than compute, so several can run at once."""

    name = "moving"
    about = "Real services that change while they are explored, and which marks are right."
    cases = rows_of(Path(__file__).with_suffix(".toml"), Row)
    parallel = 3

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--axis", choices=AXES, help="only rows whose plans have user counts, or offered rates")
        parser.add_argument("--client", choices=CLIENTS)
        parser.add_argument("--workers", type=int, default=0, help="worker processes; these runs have results of their own")

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Row]:
        return {name: row for name, row in super().chosen(options).items() if row.axis in (options.axis or AXES)}

    def variants(self, case: Row, options: argparse.Namespace) -> Sequence[str]:
        workers = f", {options.workers} workers" * bool(options.workers)
        return [f"{client}{workers}" for client in ((options.client,) if options.client else CLIENTS)]

    def why_not(self, case: Row, options: argparse.Namespace) -> str:
        if importlib.util.find_spec("uvicorn") is None:
            return "uvicorn is not installed: `make moving` installs lab/trials/services.lock first"
        return missing(*case.needs)

    def carry_out(self, case: Row, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile = prepared(case, msgspec.convert(variant.partition(",")[0], Client), folder)
        workers = ("--workers", str(options.workers)) if options.workers else ()
        return judged(case, headless(folder, str(profile), "--plan", case.plan, *workers, timeout_s=TIMEOUT_S, cwd=LAB))

    def page(self, results: Sequence[Result]) -> str:
        groups: dict[str, list[Result]] = {}
        for each in results:
            of_workers = ", load of worker processes" * ("workers" in each.variant)
            groups.setdefault(f"{self.cases[each.case].axis}{of_workers}", []).append(each)
        rows = [
            (axis, len({each.case for each in of_it}), len(of_it), sum(each.right for each in of_it),
             sum(not each.figures.get("once") for each in of_it), commits(of_it))
            for axis, of_it in groups.items()
        ]  # fmt: skip
        head = ("explored by", "rows", "runs", "right at the end", "nothing wrong at any moment", "commits")
        return filled(self.name, axes=table(head, rows, "lrrrrl"), not_right=not_right(results))
