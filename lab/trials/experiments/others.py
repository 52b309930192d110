"""(b) users that only think, (c) a generator that gets a fraction of a core, (d) a ladder whose knee must be marked in time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from capexplorer import profile

from ..other_processes import busy
from .capacity import sleepers
from .headless import KNEE_KINDS, ROOT, Ran, run
from .systems import PROFILES

Result = tuple[bool, str]
"""(whether it passed, the result in words)."""

THINKING_USERS = (10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 240)
THINKING_HOLD_S = 25
"""The user counts are climbed up and down: 24 levels, 10 minutes."""

HELD_USERS = (10, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 300)
HELD_HOLD_S = 10
BUSY_PROCESSES = 4
"""Busy processes that share a core with the generator, so that it gets about a fifth of the core."""

SLEEPERS_KNEE = 40


def thinking(folder: Path, hold_s: float = THINKING_HOLD_S) -> dict[str, Result]:
    """No knee, bend or knee at or below may be marked, not even one that was retracted. Runs both profiles at the same time."""
    users = (*THINKING_USERS, *reversed(THINKING_USERS))
    plan = ",".join(f"{count}:{hold_s}s" for count in users)
    names = ("thinkers", "silent")

    def one(name: str) -> Result:
        ran = run(folder / name, str(PROFILES / f"{name}.toml"), "--plan", plan, timeout_s=len(users) * (hold_s + 10) + 60)
        kinds = [mark.kind for mark in ran.marks]
        result = f"{len(ran.timeline.levels)} levels in {ran.timeline.last_s:.0f} s, up to {max(users)} users,"
        result += f" {_highest_goodput_rps(ran):.4g}/s;"
        result += f" marks: {', '.join(kinds) or 'none'}; no_knee_up_to_users {ran.summary['no_knee_up_to_users']}"
        return not any(kind in KNEE_KINDS for kind in kinds) and ran.exit_code == 0, result

    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))


def held(folder: Path) -> Result:
    """capexplorer shares one core with busy processes, the service has the other core: the busy processes must be blamed, and
    never the target."""
    plan = ",".join(f"{count}:{HELD_HOLD_S}s" for count in HELD_USERS)
    limit_s = len(HELD_USERS) * (HELD_HOLD_S + 10) + 60.0
    with sleepers(4, 100.0, before=("taskset", "-c", "1")) as (port, _), busy([0], count=BUSY_PROCESSES, most_s=limit_s):
        ran = run(
            folder, str(PROFILES / "held.toml"), "--host", f"http://127.0.0.1:{port}", "--plan", plan,
            timeout_s=limit_s, before=("taskset", "-c", "0"),
        )  # fmt: skip
    limits = [
        str(mark.finding.figures()["limit"]) for mark in ran.marks if mark.kind == "knee" and "limit" in mark.finding.figures()
    ]
    blamed = [f"{mark.kind}:{mark.id}" for mark in ran.marks if mark.kind in ("bottleneck", "cause")]
    result = f"{_knee(ran)} (limit in all revisions: {', '.join(limits) or 'no knee'}),"
    result += f" {_highest_goodput_rps(ran):.4g}/s at most, loop lag p99 {ran.median('loop_lag_p99_ms') or 0:.0f} ms,"
    result += (
        f" generator {ran.median('generator_cpu_ratio') or 0:.2f} cores; causes and bottlenecks: {', '.join(blamed) or 'none'}"
    )
    return "bottleneck:noisy_neighbours" in blamed and set(limits) <= {"generator", "unknown"}, result


def ladder(folder: Path) -> Result:
    """The plan `ladder` of the profile `sleepers`: the first knee must be marked in time."""
    ran = run(folder, "sleepers", "--plan", "ladder", timeout_s=_plan_s("sleepers", "ladder") + 60)
    return in_time(ran, SLEEPERS_KNEE)


def in_time(ran: Ran, knee_users: float) -> Result:
    """Whether the first knee was marked while the first level beyond N*, or the one after it, ran."""
    beyond = [level for level in ran.timeline.levels if level.users > knee_users]
    first = next((mark for mark in ran.marks if mark.kind == "knee"), None)
    if first is None or len(beyond) < 2:
        return False, f"no knee was marked; levels {[level.users for level in ran.timeline.levels]}"
    at = next(level for level in reversed(ran.timeline.levels) if level.opened.t_s <= first.t_s)
    until_s = beyond[1].ended_s or ran.timeline.last_s
    result = (
        f"first marked at {first.t_s:.1f} s, {first.t_s - at.opened.t_s:.1f} s into the level of {at.users}: {first.users:.1f};"
    )
    result += f" levels beyond N* = {knee_users:g} began at {beyond[0].opened.t_s:.1f} and {beyond[1].opened.t_s:.1f} s;"
    result += f" at the end {_knee(ran)}"
    return beyond[0].opened.t_s <= first.t_s <= until_s, result


def _knee(ran: Ran) -> str:
    knee = ran.knee
    return f"{knee['users']:.1f} [{knee['users_low']:.1f}-{knee['users_high']:.1f}], {knee['limit']}" if knee else "no knee"


def _highest_goodput_rps(ran: Ran) -> float:
    return max((level.figures.goodput_rps or 0.0 for level in ran.timeline.levels), default=0.0)


def _plan_s(name: str, plan: str) -> float:
    from capexplorer.load.plan import parse

    found = profile.load(ROOT / "profiles" / f"{name}.toml")
    return sum(step.hold_s + 10 for step in parse(found.plans[plan], plan, found.guards.max_users))
