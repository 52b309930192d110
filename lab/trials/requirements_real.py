"""How three real services answer what is required of them, ten runs each (`python -m lab.trials requirements-real`).

Their capacity is known by construction (lab/trials/services.py), the p95 at a load below the knee by a longer run. Every run
asks for four bounds, 0.8 and 1.25 times each truth, and ends when all are decided, or after WITHIN_S.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from capexplorer.model.events import Answered
from capexplorer.model.requirements import Answer, CapacityAnswer, Requirement, State
from lab.kit.runs import LAB, Ran, events_of, headless
from lab.trial import Judged, Trial, kinds
from lab.trials.services import SERVICES, KnownService

RATIOS = (0.8, 1.25)
WITHIN_S = 300.0
TRUTH_S = 200
KNEE_SHARE = 0.7
"""The load of the p95: some requests wait there, none for long."""


def right(answer: Answer, ratio: float) -> State:
    """What is true of a bound that is so many times the truth: a capacity has to reach it, a p95 must not."""
    return "met" if (ratio < 1) == isinstance(answer, CapacityAnswer) else "not_met"


def first_decided(ran: Ran) -> Mapping[Requirement, tuple[State, float]]:
    """Of each requirement: its first answer that is met or not met, and the second of it."""
    found: dict[Requirement, tuple[State, float]] = {}
    for event in events_of(ran.events, Answered):
        for each in event.answers:
            if each.state != "undecided":
                found.setdefault(each.required, (each.state, event.t_s))
    return found


class RealRequirements(Trial[KnownService]):
    """The services sleep rather than compute, so all three can run at once."""

    name = "requirements-real"
    about = "What is required of three real services, answered ten times."
    cases = {each.name: each for each in SERVICES if each.name in ("gunicorn", "go", "postgresql-pool")}
    parallel = 3
    repeats = 10
    attempts = 1

    def __init__(self) -> None:
        self._p95_ms: dict[str, float] = {}
        self._locks = defaultdict[str, Lock](Lock)

    def carry_out(self, case: KnownService, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile = folder / f"{case.name}.toml"
        profile.write_text(case.profile, encoding="utf-8")
        users = round(KNEE_SHARE * case.knee_users)
        with self._locks[case.name]:
            if case.name not in self._p95_ms:
                self._p95_ms[case.name] = _p95_ms(profile, users, folder / "truth")
        p95_ms = self._p95_ms[case.name]
        asked = {
            **{f"capacity >= {ratio * case.capacity_rps:.2f}/s": ratio for ratio in RATIOS},
            **{f"p95 <= {ratio * p95_ms:.1f}ms @ {users} users": ratio for ratio in RATIOS},
        }
        words = [word for text in asked for word in ("--require", text)]
        ran = headless(folder, str(profile), *words, "--within", f"{WITHIN_S:g}s", timeout_s=2 * WITHIN_S, cwd=LAB)
        return _judged(ran, list(asked.values()), p95_ms)


def _p95_ms(profile: Path, users: int, folder: Path) -> float:
    ran = headless(folder, str(profile), "--plan", f"{users}:{TRUTH_S}s", timeout_s=2 * TRUTH_S, cwd=LAB)
    found: float = ran.summary["levels"][-1]["latency_ms"]["p95"]
    return found


def _judged(ran: Ran, ratios: list[float], p95_ms: float) -> Judged:
    decided, figures, wrong = first_decided(ran), dict[str, Any](), dict[str, bool]()
    for answer, ratio in zip(ran.timeline.answers, ratios, strict=True):
        name = f"{'capacity' if isinstance(answer, CapacityAnswer) else 'p95'} {ratio:g}"
        state, at_s = decided.get(answer.required, ("undecided", None))
        figures[name] = {"first": state, "last": answer.state, "decided_s": at_s}
        wrong[name] = {state, answer.state} - {"undecided", right(answer, ratio)} != set()
    return Judged(
        wrong=kinds(wrong), figures=figures | {"p95_ms": p95_ms, "ended_s": ran.timeline.last_s, "exit_code": ran.exit_code}
    )
