"""Carries out one loss on the real program, and checks its session."""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from pathlib import Path
from time import sleep, time

import msgspec
from e2e.rig import Run, events_of, started_run, wait_until

from capexplorer.model.events import Command, Ended, Event, Header, LevelClosed, Mark, Sample

from ..kills.execution import HERE as KILLS
from ..kills.execution import ROOT
from .plan import LEVELS, WORKERS, Loss

SERVICE = f"{sys.executable} {ROOT}/tests/e2e/targets/actor/actor.py {{port}} serves"

MARKED_WITHIN_S = 4.0
"""Three seconds without a report of the worker, and the tick after them."""

USERS_BACK_WITHIN_S = 5.0
"""From the mark to the first sample with all users again."""


class Outcome(msgspec.Struct, kw_only=True):
    """The outcome of one loss. `problems` is empty if nothing is wrong."""

    loss: Loss
    problems: list[str] = []
    marked_after_s: float | None = None
    """From the signal to the event; None: never."""
    users_back_after_s: float | None = None
    """From the event to the first sample with all users; None: never."""
    void_levels: int = 0


def carry_out(loss: Loss, folder: Path) -> Outcome:
    """One run that loses a worker and continues to the end of its plan."""
    outcome = Outcome(loss=loss)
    arguments = (str(KILLS / "profile.toml"), "--target-cmd", SERVICE, "--ready", "/", "--headless")
    with started_run(folder, *arguments, "--workers", str(WORKERS), "--plan", LEVELS) as run:
        try:
            run.wait_for_events(Sample, lambda event: event.settled)
            sleep(loss.after_s)
            lost_at = _send_signal(run, loss)
            code = run.exit_code()
            if code != 0:
                outcome.problems.append(f"exit code {code}: {run.stderr[-500:]}")
            wait_until(lambda: not run.marked.processes(), "no process left")
        except AssertionError as error:  # a wait timed out
            outcome.problems.append(str(error)[-2000:])
            return outcome
        _check_session(run.events(), lost_at, outcome)
    return outcome


def _send_signal(run: Run, loss: Loss) -> float:
    """Send the signal to the worker; returns the wall-clock time."""
    workers = sorted(run.marked.pids("capexplorer worker --join"))
    assert len(workers) == WORKERS, f"{len(workers)} workers before the signal"
    os.kill(workers[loss.worker], signal.Signals[loss.signal])
    return time()


def _check_session(events: list[Event], lost_at: float, outcome: Outcome) -> None:
    header, samples = events_of(events, Header)[0], events_of(events, Sample)
    lost_s = lost_at - datetime.fromisoformat(header.started_at).timestamp()
    outcome.void_levels = sum(level.void == "worker_lost" for level in events_of(events, LevelClosed))
    seen = [each for each in events_of(events, Command) if each.name == "workers" and each.args.get("change") == "lost"]
    if len(seen) != 1:
        outcome.problems.append(f"{len(seen)} workers lost, expected 1: {[each.args.get('why') for each in seen]}")
        return
    outcome.marked_after_s = round(seen[0].t_s - lost_s, 3)
    back = next((each for each in samples if each.t_s > seen[0].t_s and each.users == each.wanted > 0), None)
    outcome.users_back_after_s = round(back.t_s - seen[0].t_s, 3) if back is not None else None
    counted = [each.t_s for each in samples if each.settled and lost_s < each.t_s - each.duration_s and each.t_s <= seen[0].t_s]
    wrong = {
        f"marked after {outcome.marked_after_s} s": outcome.marked_after_s > MARKED_WITHIN_S,
        f"users back after {outcome.users_back_after_s} s": (outcome.users_back_after_s or 1e9) > USERS_BACK_WITHIN_S,
        "no mark of the lost worker": not any(mark.id == "worker_lost" for mark in events_of(events, Mark)),
        "a knee is marked": any(mark.kind in ("knee", "first_overload") for mark in events_of(events, Mark)),
        f"settled seconds without the worker: {counted}": bool(counted),
        f"{outcome.void_levels} void levels, expected 1": outcome.void_levels != 1,
        "the session is not complete": not events_of(events, Ended),
    }
    outcome.problems += [problem for problem, is_wrong in wrong.items() if is_wrong]
