"""Explorations of a simulated system in virtual time: by the product's autopilot, or by a plain policy with the product's
detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from capexplorer.model.events import Command
from capexplorer.model.verdicts import CapacityVerdict
from capexplorer.run.live_levels import CurrentEpoch

from .ladders import KINDS, Kind, Truth, random_system
from .queues import System, run
from .virtual_run import VirtualRun

MAX_USERS = 2_000

Policy = Callable[[System, Truth, np.random.Generator], "PolicyRun"]


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """One exploration, which begins with one user."""

    truth: Truth
    verdict: CapacityVerdict
    """The verdict of the session at its end."""
    found_s: float
    """Seconds until the search ended: a knee was found, or the autopilot gave up."""
    ended_s: float
    most_users: int
    steps: tuple[int, ...]
    """Users of each level that was opened."""
    ending: str | None
    """Why the autopilot ended: `knee`, or the reason for giving up; None: it did not end, or this is a plain policy."""


def run_autopilot(
    system: System, truth: Truth, rng: np.random.Generator, *, max_users: int = MAX_USERS, limit_s: int = 900
) -> PolicyRun:
    """Explore a system by the autopilot until it ends, for `limit_s` at most."""
    session = VirtualRun(run(system, rng), max_users=max_users)
    session.explore(limit_s)
    session.end()
    commands = [each for each in session.timeline.journal if isinstance(each, Command)]
    found_s = next((each.t_s for each in commands if each.args.get("why") == "soak"), session.now_s)
    ending = next((str(each.args.get("why")) for each in commands if each.args.get("end")), None)
    return _policy_run(session, truth, found_s, ending)


def fixed_steps(add: int, times: float, level_s: int) -> Policy:
    """A plain policy: `users * times + add` after `level_s` seconds of each level, until the detector marks a knee."""

    def climb(system: System, truth: Truth, rng: np.random.Generator) -> PolicyRun:
        session, users = VirtualRun(run(system, rng)), 1
        while session.now_s < 1_800 and users <= MAX_USERS:
            session.climb([users], level_s, by="autopilot")
            knee = _verdict(session).knee
            if knee is not None and knee.kind == "knee":
                break
            users = int(users * times + add)
        return _policy_run(session, truth, session.now_s, None)

    return climb


def _policy_run(session: VirtualRun, truth: Truth, found_s: float, ending: str | None) -> PolicyRun:
    steps = tuple(level.users for level in session.timeline.levels if level.opened.since_s is None)
    return PolicyRun(truth, _verdict(session), found_s, session.now_s, session.most_users, steps, ending)


def _verdict(session: VirtualRun) -> CapacityVerdict:
    found = CurrentEpoch(session.timeline).epoch.verdict
    return found.capacity if found is not None else CapacityVerdict()


def system_of(kind: Kind, seed: int) -> tuple[System, Truth, np.random.Generator]:
    """The system that a ladder of that kind and seed climbs."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    return *random_system(kind, rng), rng


def linear_system(seed: int) -> tuple[System, Truth, np.random.Generator]:
    """A random system that never saturates."""
    rng = np.random.default_rng([seed, 99])
    return *random_system("linear", rng), rng
