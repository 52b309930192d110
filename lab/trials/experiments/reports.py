"""The five load-test reports, repeated: each run headless by one command, judged by what must be marked; and each target for a
minute at twice its knee, after which it must answer again."""

from __future__ import annotations

import shlex
import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from capexplorer.model.timeline import Timeline
from capexplorer.report import capacity
from capexplorer.report.compare import Session, compare
from lab.kit.runs import ROOT, Ran, headless
from lab.trial import Judged, kinds

from .known import plan_s

PICTURES = ROOT / "docs" / "pictures" / "experiments"
OVERHEAD_S = 120.0
"""Allowance for the start, the client overhead, spawning and the end."""
FIGURES = ("goodput", "mean", "p95")
"""Figures of a comparison that are kept."""
LEVEL = (
    "users", "kind", "requests", "failures", "goodput_rps", "target_cpu_ratio", "generator_cpu_ratio", "host_cpu_ratio",
    "others_cpu_ratio", "open_sockets",
)  # fmt: skip
"""Figures of a level that are kept, beside its latency and the CPU of its workers."""


class Repeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One repetition (reports.toml says what the keys mean)."""

    name: str
    profile: str
    report: str | None = None
    short: str = "short"
    arguments: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    needs: str = ""

    def command(self, plan: str) -> tuple[str, ...]:
        return (self.profile, *self.arguments, "--plan", plan)


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    about: str
    concluded: str
    table: tuple[tuple[str, ...], ...]
    runs: dict[str, Any]
    compare: tuple[tuple[str, str], ...] = ()

    @property
    def repeats(self) -> list[Repeat]:
        return [msgspec.convert({"name": name, **fields}, Repeat) for name, fields in self.runs.items()]


REPORTS = msgspec.convert(tomllib.loads(Path(__file__).with_name("reports.toml").read_text(encoding="utf-8")), dict[str, Report])


def repeated(repeat: Repeat, folder: Path, *, short: bool) -> tuple[Judged, Timeline]:
    """A run of a report, judged; writes the picture of its capacity curve."""
    plan = repeat.short if short or repeat.report is None else repeat.report
    ran = headless(folder, *repeat.command(plan), timeout_s=plan_s(repeat.profile, plan) + OVERHEAD_S)
    drawn = capacity.picture(ran.timeline)
    if drawn is not None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{repeat.name}.svg").write_bytes(drawn)
    return judge(repeat, ran, f"capexplorer run {shlex.join(repeat.command(plan))} --headless"), ran.timeline


def judge(repeat: Repeat, ran: Ran, command: str) -> Judged:
    found, levels = ids(ran.summary), levels_of(ran)
    knee = ran.knee or {}
    figures = {"command": command, "marked": sorted(found), "exit_code": ran.exit_code, "levels": levels}
    figures |= {name: knee.get(name) for name in ("users", "users_low", "users_high", "capacity_rps", "confidence")}
    return Judged(
        missing=tuple(wanted for wanted in repeat.marks if not found & set(wanted.split("|"))),
        wrong=tuple(unwanted for unwanted in repeat.never if unwanted in found),
        busy_cores=others_cores(levels),
        figures=figures,
    )


def ids(summary: dict[str, Any]) -> set[str]:
    """Ids of all marks of a summary; of knees, shifts and recoveries their kinds."""
    found = {knee["kind"] for knee in summary["knees"]} | {shift.get("column", "") for shift in summary["shifts"]}
    found |= {each["id"] for name in ("causes", "bottlenecks") for each in summary[name]}
    found |= {"recovered" if each["recovered"] else "not_recovered" for each in summary["recoveries"]}
    return found | ({"no_knee"} if summary["no_knee_up_to_users"] is not None else set())


def levels_of(ran: Ran) -> list[dict[str, Any]]:
    """The figures of the levels, with the CPU of their workers, which only the timeline has."""
    levels = []
    for level in ran.summary["levels"]:
        workers = ran.timeline.levels[level["index"]].figures.readings.get("workers.here_cpu_ratio")
        latency = {f"{name}_ms": level["latency_ms"][name] for name in ("mean", "p50", "p95", "p99")}
        levels.append({name: level.get(name) for name in LEVEL} | latency | {"workers_cpu_ratio": workers})
    return levels


def others_cores(levels: Sequence[dict[str, Any]]) -> float:
    """Cores that other processes used: the median over the levels."""
    known = [level["others_cpu_ratio"] for level in levels if level.get("others_cpu_ratio") is not None]
    return round(max(0.0, statistics.median(known)), 2) if known else 0.0


def compared(a: Timeline, b: Timeline) -> dict[str, Any]:
    """What `capexplorer compare` finds between two runs: of each user count in common the relative differences of FIGURES and
    whether each is beyond noise; and the knees."""
    (pair,) = compare([Session(a, title="a"), Session(b, title="b")]).pairs
    knees = [curve.knee["knee"].value if curve.knee else None for curve in (pair.before, pair.after)]
    rows = [
        {"users": level.load.users} | {name: [level[name].ratio, level[name].judgement] for name in FIGURES}
        for level in pair.levels
    ]
    return {"knees": knees, "directions": sorted("better" if each else "worse" for each in pair.directions), "levels": rows}


# -- twice the knee ------------------------------------------------------------------------------------------------------------

FIND_KNEE_PLAN = "find knee,hold 50% knee 15s,hold 200% knee 60s,hold 50% knee 20s"
TWICE_TIMEOUT_S = 600.0
SAME = 0.10
"""Tolerance of a user count: a share of the knee changes when the knee is revised."""
NO_LIMITS = ("not_saturated", "think_time_limited")
"""Bottlenecks without a limit of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One exploration. `plan` ends with the low level, twice the knee, the low level."""

    name: str
    profile: str
    plan: str = FIND_KNEE_PLAN
    knee_users: int | None = None
    """The known knee; None: the plan finds it."""
    needs: str = ""


# With a known knee, plans have two levels below it: the detector needs them to find the knee, without which it marks no recovery.
TARGETS = (
    Target(name="sleepers", profile="sleepers", plan="10:10s,20:15s,80:60s,20:20s", knee_users=40),
    Target(name="mixed", profile="mixed"),
    # 182 users submit 36 tasks a second, and 18 are finished: the queue of 500 is full after 30 s; at 60 users it empties in 80 s
    Target(name="taskqueue", profile="taskqueue", plan="30:20s,60:25s,182:60s,60:120s", knee_users=91),
    # requests queue at its lock: the autopilot found knees of 5.6 and 9.5 users, too few for shares such as 50% of the knee
    Target(name="kv", profile="lab/trials/experiments/profiles/kv-hurried.toml", plan="2:10s,5:15s,20:60s,5:30s", knee_users=10),
    Target(name="kv-go", profile="kv-go", needs="go"),
    Target(name="webdav", profile="webdav"),
    # the knee is that of the generator: one process of it cannot saturate nginx
    Target(name="static", profile="static", plan="1:10s,4:60s,1:15s", knee_users=2, needs="nginx"),
)

Around = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""Figures of the low level, of twice the knee, and of the low level again."""


def twice(target: Target, folder: Path) -> Judged:
    ran = headless(folder, target.profile, "--plan", target.plan, timeout_s=TWICE_TIMEOUT_S)
    summary, found = ran.summary, around(ran.summary["levels"])
    causes = _causes(summary, found[1]) if found else []
    problems = mistakes(found, has_cause=any(each["count"] for each in causes))
    recoveries = [(each["recovered"], each["after_s"]) for each in summary["recoveries"]]
    figures = {
        "knee_users": target.knee_users or (ran.knee or {}).get("users"),
        "exit_code": ran.exit_code,
        "levels": list(found or ()),
        "marked": [each["id"] for each in (*causes, *summary["bottlenecks"]) if each["id"] not in NO_LIMITS],
        "recovery": recoveries[-1] if recoveries else None,
    }
    return Judged(wrong=problems, busy_cores=others_cores(levels_of(ran)), figures=figures)


def around(levels: Sequence[dict[str, Any]]) -> Around | None:
    """The last three user counts of a summary's levels; None if they are not a low one, twice the knee, the low one. The parts
    into which shifts split a level count as one, with the goodput of the last."""
    counts = [list(parts) for _, parts in groupby(levels, key=lambda level: level["users"])]
    found = [_figures(parts) for parts in counts[-3:]]
    if len(found) < 3:
        return None
    low, high, again = found
    if abs(again["users"] - low["users"]) > SAME * low["users"] or high["users"] < 2 * low["users"]:
        return None
    return low, high, again


def mistakes(found: Around | None, *, has_cause: bool) -> tuple[str, ...]:
    """Problems of a run. `has_cause`: a cause that counts failures was marked at twice the knee."""
    if found is None:
        return ("not_reached",)
    _, during, after = found
    problems: dict[str, object] = {
        "failures_without_cause": (during["failures"] + during["failures_while_unsettled"]) and not has_cause,
        "nothing_finished_afterwards": not after["goodput_rps"],
        "failures_afterwards": after["failures"],
    }
    return kinds(problems)


def _figures(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    sums = {name: sum(part[name] or 0 for part in parts) for name in ("requests", "failures", "failures_while_unsettled")}
    first, last = parts[0], parts[-1]
    return (
        {name: first[name] for name in ("users", "started_s")} | {name: last[name] for name in ("goodput_rps", "ended_s")} | sums
    )


def _causes(summary: dict[str, Any], during: dict[str, Any]) -> list[dict[str, Any]]:
    """Causes that were observed between the start and the end of `during`."""
    return [
        each
        for each in summary["causes"]
        if (each["first_s"] or 0.0) <= during["ended_s"] and (each["last_s"] or during["ended_s"]) >= during["started_s"]
    ]
