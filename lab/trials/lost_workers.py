"""Workers that are killed or stopped under load, at random moments: `make lost-workers`.

Each loss must be marked, its level void, its users running on the other workers, and the session complete.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import sleep, time
from typing import Any

from capexplorer.model.events import Command, Ended, Event, Header, LevelClosed, Mark, Sample
from lab.kit.runs import Run, events_of, started_run, wait_until
from lab.kit.tables import spread
from lab.trial import Judged, Result, SeedTrial, kinds, seeds
from lab.trials.kills.trial import PROCESS, PROFILE

LEVELS = "4:6s,8:6s,12:8s"
"""Three levels, all below the capacity of the service, so that any knee is wrong."""
WORKERS = 3
SIGNALS = ("SIGKILL", "SIGSTOP")
LATEST_S = 14.0
"""The losses come up to so long after the first settled sample: in any level, and at a change of levels."""
MARKED_WITHIN_S = 4.0
"""Three seconds without a report of the worker, and the tick after them."""
USERS_BACK_WITHIN_S = 5.0
"""From the mark to the first sample with all users again."""


def carry_out(seed: int, folder: Path) -> Judged:
    """One run that loses a worker and continues to the end of its plan. Even seeds have SIGKILL, odd ones SIGSTOP; which
    worker and when is random."""
    rng = random.Random(seed)
    worker, after_s = rng.randrange(WORKERS), round(rng.uniform(0.0, LATEST_S), 3)
    folder.mkdir(parents=True)
    arguments = (PROFILE, "--target-cmd", PROCESS, "--ready", "/", "--headless", "--workers", str(WORKERS), "--plan", LEVELS)
    with started_run(folder, *arguments) as run:
        run.wait_for_events(Sample, lambda event: event.settled)
        sleep(after_s)
        lost_at = _send_signal(run, SIGNALS[seed % 2], worker)
        code = run.process.wait(120)
        wait_until(lambda: not run.marked.processes(), "no process left")
        ended = [f"exit code {code}: {run.stderr[-500:]}"] if code else []
        found = judge(run.events(), lost_at)
    return Judged(wrong=(*ended, *found.wrong), figures={"signal": SIGNALS[seed % 2], **found.figures})


def _send_signal(run: Run, name: str, worker: int) -> float:
    workers = sorted(run.marked.pids("capexplorer worker --join"))
    assert len(workers) == WORKERS, f"{len(workers)} workers before the signal"
    os.kill(workers[worker], signal.Signals[name])
    return time()


def judge(events: Sequence[Event], lost_at: float) -> Judged:
    header, samples = events_of(events, Header)[0], events_of(events, Sample)
    lost_s = lost_at - datetime.fromisoformat(header.started_at).timestamp()
    void = sum(level.void == "worker_lost" for level in events_of(events, LevelClosed))
    seen = [each for each in events_of(events, Command) if each.name == "workers" and each.args.get("change") == "lost"]
    if len(seen) != 1:
        return Judged(wrong=("lost",), figures={"lost": [each.args.get("why") for each in seen]})
    seen_s = seen[0].t_s
    back = next((each for each in samples if each.t_s > seen_s and each.users == each.wanted > 0), None)
    marked_after_s, back_after_s = round(seen_s - lost_s, 3), round(back.t_s - seen_s, 3) if back is not None else None
    counted = [each.t_s for each in samples if each.settled and lost_s < each.t_s - each.duration_s and each.t_s <= seen_s]
    marks = events_of(events, Mark)
    wrong = {
        "marked_late": marked_after_s > MARKED_WITHIN_S,
        "users_back_late": (back_after_s or 1e9) > USERS_BACK_WITHIN_S,
        "not_marked": not any(mark.id == "worker_lost" for mark in marks),
        "knee": any(mark.kind in ("knee", "first_overload") for mark in marks),
        "settled_without_the_worker": counted,
        "void_levels": void != 1,
        "incomplete": not events_of(events, Ended),
    }
    figures = {"marked_after_s": marked_after_s, "users_back_after_s": back_after_s, "void_levels": void}
    return Judged(wrong=kinds(wrong), figures=figures)


class LostWorkers(SeedTrial[int]):
    name = "lost-workers"
    about = "Kills or stops workers of runs. Exit code 1 when a loss was marked late, or left a wrong figure."
    count = 50

    def chosen(self, options: argparse.Namespace) -> Mapping[str, int]:
        return seeds(options)

    def carry_out(self, case: int, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        return carry_out(case, folder)

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        return {"losses": len(results)} | {
            name: {
                "losses": len(of_it),
                "marked_after_s": spread(each.figures.get("marked_after_s") for each in of_it),
                "users_back_after_s": spread(each.figures.get("users_back_after_s") for each in of_it),
            }
            for name in SIGNALS
            for of_it in ([each for each in results if each.figures.get("signal") == name],)
        }
