"""SSH clients of live runs killed at random moments: `make hangups`, as root.

No request may be disturbed, the run can be attached to, and nothing is left. A case is one run and its ten clients: the one that
started it is killed first, then nine attached ones.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

import msgspec

from capexplorer.model.events import Ended, Event, Header, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.session.reader import open_session
from lab.kit.namespaces import is_root
from lab.kit.programs import missing
from lab.kit.runs import PROGRAM, MarkedEnvironment, events_in, events_of, run_command, wait_until
from lab.kit.servers import Sshd, sshd, typing_client
from lab.kit.tables import spread
from lab.trial import Judged, Result, SeedTrial, kinds, seeds
from lab.trials.kills.trial import PROCESS, PROFILE

CLIENTS_PER_RUN = 10
USERS = 10
STARTING_SHARE = 0.3
STARTING_S = 3.0
"""A client that is killed while it starts is killed within this time: it connects, reads the session and paints the screen."""
WINDOW_S = 4
"""Whole seconds before a moment that are compared with as many after it."""
CONTROL_S = 0.5 + WINDOW_S
"""From the first paint to the control, a moment without a kill that is compared in the same way."""
WATCHING_S = CONTROL_S + 2 * WINDOW_S + 0.5
"""Least time from the first paint to the kill, so that the windows of start, control and kill do not overlap."""
KEYS = "fz2w1 "
"""Keys of which a watching client types a few; none of them changes the load."""
PAINTED = b"settled"
"""Text in the status of a screen that has drawn the level."""
SHUFFLES = 10_000
LATE_S = 0.05
"""Seconds are missing if a second begins later than this after the end of the one before."""


class Hangup(msgspec.Struct, frozen=True, kw_only=True):
    watches: bool
    """Whether it is killed after its first paint, else while it starts."""
    after_s: float
    """Since the client's start, or since its first paint."""
    keys: str = ""


def hangup(seed: int, *, first: bool) -> Hangup:
    rng = random.Random(seed)
    if not first and rng.random() < STARTING_SHARE:
        return Hangup(watches=False, after_s=round(rng.uniform(0.0, STARTING_S), 3))
    keys = "".join(rng.choices(KEYS, k=rng.randint(0, 4)))
    return Hangup(watches=True, after_s=round(WATCHING_S + rng.random(), 3), keys=keys)


def carry_out(hangups: Sequence[Hangup], folder: Path) -> Judged:
    folder.mkdir(parents=True)
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    started, sessions = MarkedEnvironment(), folder / "sessions"
    begins = ("run", PROFILE, "--target-cmd", PROCESS, "--ready", "/", "--users", str(USERS), "--sessions-dir", str(sessions))
    problems: list[str] = []
    painted_s: list[float] = []
    moments: list[tuple[float, float]] = []
    try:
        with sshd(folder / "sshd") as server:
            for index, each in enumerate(hangups):
                marked = MarkedEnvironment() if index else started
                words = ("attach", _session(sessions)) if index else begins
                if (times := _kill(server, words, marked, folder / f"output-{index}", each)) is not None:
                    painted_s += [round(times[0], 2)] * bool(index)
                    moments.append(times[1:])
                if index:
                    marked.assert_no_process_left()
            stopped = run_command("stop", _session(sessions))
            problems += [f"stop: {stopped.stderr}"] if stopped.returncode else []
            started.assert_no_process_left()
            problems += [f"socket left: {each}" for each in (folder / "capexplorer").glob("*.sock")]
    except AssertionError as error:  # a wait timed out
        problems.append(str(error)[-1000:])
    finally:
        started.kill_remaining()
    found = judge(sessions, moments)
    return Judged(wrong=(*problems, *found.wrong), figures={**found.figures, "painted_s": painted_s})


def _session(sessions: Path) -> str:
    (path,) = sessions.glob("*.jsonl")
    return path.stem


def _kill(
    server: Sshd, words: Sequence[str], marked: MarkedEnvironment, output: Path, hangup: Hangup
) -> tuple[float, float, float] | None:
    """Start a client with these arguments of capexplorer, and kill it. Returns the seconds to its first paint, and the wall-clock
    times of the kill and of the moment without a kill before it; None for a client that was killed while it started."""
    began_at = time.time()
    with typing_client(server, [PROGRAM, *words], marked, output) as (client, keys):
        if not hangup.watches:
            time.sleep(hangup.after_s)
            client.kill()
            return None
        wait_until(lambda: PAINTED in output.read_bytes(), "the first paint", 60.0)
        painted_s = time.time() - began_at
        time.sleep(CONTROL_S)
        control_at = time.time()
        os.write(keys, hangup.keys.encode())
        time.sleep(hangup.after_s - CONTROL_S)
        killed_at = time.time()
        client.kill()
    time.sleep(WINDOW_S + 1)
    return painted_s, killed_at, control_at


def judge(sessions: Path, moments: Sequence[tuple[float, float]]) -> Judged:
    """Whether the session is whole. `moments`: wall-clock times of each kill and of its control."""
    events = events_in(sessions)
    if not events or not isinstance(events[-1], Ended):
        return Judged(wrong=("incomplete",))
    with open_session(next(sessions.glob("*.jsonl"))) as log:
        list(log)
        damaged = log.damaged
    header, samples, ended = events[0], events_of(events, Sample), events[-1]
    assert isinstance(header, Header)
    began_at = datetime.fromisoformat(header.started_at).timestamp()
    changes = [[change_at(samples, at - began_at) for at in times] for times in zip(*moments, strict=True)] or [[], []]
    found = {"damaged_lines": damaged, "failed_requests": ended.failures, "missing_seconds": gaps(events)}
    figures: dict[str, Any] = found | {"requests": ended.requests, "seconds_of_load": len(samples)}
    figures |= {name: [each for each in known if each] for name, known in zip(("kills", "controls"), changes, strict=True)}
    return Judged(wrong=kinds(found), figures=figures)


def change_at(samples: Sequence[Sample], t_s: float) -> tuple[float, float] | None:
    """(rate, p99) after a moment divided by those before it, from WINDOW_S seconds on each side; the second that contains it is
    the first one after it. None if a side has fewer seconds."""
    before = [each for each in samples if t_s - WINDOW_S - 1 < each.t_s <= t_s][-WINDOW_S:]
    after = [each for each in samples if each.t_s > t_s][:WINDOW_S]
    if len(before) < WINDOW_S or len(after) < WINDOW_S:
        return None
    (rate, p99), (rate_after, p99_after) = _figures(before), _figures(after)
    return rate_after / rate, p99_after / p99


def _figures(samples: Sequence[Sample]) -> tuple[float, float]:
    merged = LatencyHistogram()
    for latency in (tick.latency for sample in samples for tick in sample.endpoints):
        if latency is not None:
            merged.add(LatencyHistogram.decode(latency))
    requests = sum(tick.requests for sample in samples for tick in sample.endpoints)
    (p99,) = merged.percentiles_ms((0.99,))
    assert p99 is not None, "seconds without a request"
    return requests / sum(sample.duration_s for sample in samples), p99


def gaps(events: Sequence[Event]) -> list[float]:
    """Times of the first seconds after each gap, in seconds of the session."""
    samples = events_of(events, Sample)
    return [after.t_s for before, after in pairwise(samples) if after.t_s - after.duration_s - before.t_s > LATE_S]


def compared(kills: Sequence[float], controls: Sequence[float]) -> dict[str, Any]:
    """Median and quartiles of the changes at kills and at controls, and the p-value of their difference: a two-sided permutation
    test of the mean logarithms."""
    if len(kills) < 2 or len(controls) < 2:
        return {"kills": len(kills), "controls": len(controls)}
    values, rng = [math.log(each) for each in (*kills, *controls)], random.Random(0)

    def difference() -> float:
        return abs(fmean(values[: len(kills)]) - fmean(values[len(kills) :]))

    observed, as_much = difference(), 0
    for _ in range(SHUFFLES):
        rng.shuffle(values)
        as_much += difference() >= observed
    found: dict[str, Any] = {"p_value": round((as_much + 1) / (SHUFFLES + 1), 4)}
    for name, ratios in (("kills", kills), ("controls", controls)):
        low, _, high = quantiles(ratios, n=4)
        found[name] = {"count": len(ratios), "median": round(median(ratios), 4), "quartiles": [round(low, 4), round(high, 4)]}
    return found


class Hangups(SeedTrial[int]):
    name = "hangups"
    about = "Kills SSH clients of live runs. Exit code 1 for a failed request, lost data or a process that is left."

    def chosen(self, options: argparse.Namespace) -> Mapping[str, int]:
        return seeds(options, CLIENTS_PER_RUN)

    def why_not(self, case: int, options: argparse.Namespace) -> str:
        return missing("sshd", "ssh", "ssh-keygen") or ("" if is_root() else "sshd without root gives clients no terminal")

    def carry_out(self, case: int, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        seeds = range(case, min(case + CLIENTS_PER_RUN, options.seed + options.count))
        return carry_out([hangup(seed, first=seed == case) for seed in seeds], folder)

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        def all_of(name: str) -> Iterable[Any]:
            return [value for each in results for value in each.figures.get(name, ())]

        changes = {
            name: compared([each[at] for each in all_of("kills")], [each[at] for each in all_of("controls")])
            for at, name in enumerate(("rate", "p99"))
        }
        names = ("requests", "failed_requests", "seconds_of_load")
        totals = {name: sum(each.figures.get(name, 0) for each in results) for name in names}
        return {"runs": len(results), **totals, "first_paint_s": spread(all_of("painted_s")), "after_through_before": changes}
