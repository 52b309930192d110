"""Each target for a minute at twice its knee: failures need a marked cause, and the target must answer again afterwards.

The plan: the knee (found by the autopilot, or known), a low level, twice the knee for 60 s, the low level again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from lab.trials.programs import missing
from lab.trials.record import commit

from . import five, records
from .headless import run

FIND_KNEE_PLAN = "find knee,hold 50% knee 15s,hold 200% knee 60s,hold 50% knee 20s"
TIMEOUT_S = 600.0

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
    needs: str | None = None
    """A program without which it is left out."""


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


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a level, or of all parts into which shifts split it."""

    users: float
    goodput_rps: float | None
    """Goodput of the last part."""
    requests: int
    failures: int
    """Requests and failures are those of settled seconds."""
    failures_while_unsettled: int
    started_s: float
    ended_s: float


class Twice(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one target."""

    name: str
    at: str
    commit: str
    command: str
    exit_code: int | None
    knee_users: float | None
    """The known knee, or the one that was found."""
    before: Figures | None
    during: Figures | None
    after: Figures | None
    causes: list[str]
    """Ids of the causes that were marked at twice the knee."""
    bottlenecks: list[str]
    recovery: str | None
    others_cores: float | None
    """Cores that other processes used."""
    wrong: list[str]
    """Problems, in words; empty: it passed."""

    @property
    def passed(self) -> bool:
        return not self.wrong


def all_of(folder: Path, only: Sequence[str] = ()) -> Iterator[Twice]:
    """Run all targets in turn whose programs are installed, or those named in `only`; append each to the results as it ends."""
    for each in TARGETS:
        if (only and each.name not in only) or (each.needs is not None and missing(each.needs)):
            continue
        done = twice(each, folder / each.name)
        records.append("twice", done)
        yield done


def twice(target: Target, folder: Path) -> Twice:
    """One run of the target's plan, judged."""
    ran = run(folder, target.profile, "--plan", target.plan, timeout_s=TIMEOUT_S)
    summary = ran.summary
    before, during, after = around(summary["levels"])
    causes = list(_causes(summary, during)) if during is not None else []
    return Twice(
        name=target.name,
        at=datetime.now().astimezone().isoformat(timespec="seconds"),
        commit=commit(),
        command=f'capexplorer run {target.profile} --plan "{target.plan}" --headless',
        exit_code=ran.exit_code,
        knee_users=target.knee_users or (ran.knee or {}).get("users"),
        before=before,
        during=during,
        after=after,
        causes=[each["id"] for each in causes],
        bottlenecks=[each["id"] for each in summary["bottlenecks"] if each["id"] not in NO_LIMITS],
        recovery=_recovery(summary["recoveries"]),
        others_cores=five.others_cores([five.level(each, ran.timeline) for each in summary["levels"]]),
        wrong=list(mistakes(during, after, has_cause=any(each["count"] for each in causes))),
    )


def around(levels: Sequence[dict[str, Any]]) -> tuple[Figures | None, Figures | None, Figures | None]:
    """(the low level, twice the knee, the low level again): the last three user counts of a summary's levels."""
    counts = [list(parts) for _, parts in groupby(levels, key=lambda level: level["users"])]
    found = [_figures(parts) for parts in counts[-3:]]
    if len(found) < 3 or abs(found[2].users - found[0].users) > SAME * found[0].users or found[1].users < 2 * found[0].users:
        return None, None, None
    return found[0], found[1], found[2]


def mistakes(during: Figures | None, after: Figures | None, *, has_cause: bool) -> Iterator[str]:
    """Problems of a run. `has_cause`: a cause that counts failures was marked at twice the knee."""
    if during is None or after is None:
        yield "the run has no level at twice the knee, followed by the low level"
        return
    failures = during.failures + during.failures_while_unsettled
    if failures and not has_cause:
        yield f"{failures} failures at twice the knee, and no cause was marked"
    if not after.goodput_rps:
        yield "the service finishes nothing afterwards"
    if after.failures:
        yield f"{after.failures} failures afterwards"


def _figures(parts: Sequence[dict[str, Any]]) -> Figures:
    return Figures(
        users=parts[0]["users"],
        goodput_rps=parts[-1]["goodput_rps"],
        started_s=parts[0]["started_s"],
        ended_s=parts[-1]["ended_s"],
        **{name: sum(part[name] or 0 for part in parts) for name in ("requests", "failures", "failures_while_unsettled")},
    )


def _causes(summary: dict[str, Any], during: Figures) -> Iterator[dict[str, Any]]:
    """Causes that were observed between the start and the end of `during`."""
    for each in summary["causes"]:
        if (each["first_s"] or 0.0) <= during.ended_s and (each["last_s"] or during.ended_s) >= during.started_s:
            yield each


def _recovery(recoveries: Sequence[dict[str, Any]]) -> str | None:
    if not recoveries:
        return None
    last = recoveries[-1]
    return "not recovered" if not last["recovered"] else "" if last["after_s"] is None else f"after {last['after_s']:.0f} s"
