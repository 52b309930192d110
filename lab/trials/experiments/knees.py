"""(a) The thirty: three services with a known capacity, ten autopilot runs each, in real time. All results are published, misses
included."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime
from pathlib import Path

from lab.trials.record import commit

from .headless import Ran, run
from .records import KneeRun
from .systems import SYSTEMS, System

RUNS = 10
TIMEOUT_S = 400.0
"""A run that has found nothing by then counts as a miss."""

DISTURBED_LAG_MS = 20.0
"""A run with a higher median p99 of loop lag was disturbed by the machine. It is labelled and still counts; it is repeated
once, and the repetition is listed separately and does not count. The rule was set before the first run."""

WITHIN = 0.15
WANTED = 26
"""Least number out of thirty: knees within 15% of N*, and intervals that contain N*."""


def thirty(folder: Path, parallel: int) -> Iterator[KneeRun]:
    """Carry out all runs, `parallel` at a time, then repeat disturbed ones. Yields each as it ends."""
    batch, version = datetime.now().astimezone().isoformat(timespec="seconds"), commit()
    wanted = [(system, number) for number in range(1, RUNS + 1) for system in SYSTEMS]
    disturbed = []
    for record in _all(wanted, folder, parallel, batch, version, repeat=False):
        if record.disturbed:
            disturbed.append((next(each for each in SYSTEMS if each.name == record.system), record.number))
        yield record
    yield from _all(disturbed, folder / "repeats", parallel, batch, version, repeat=True)


def _all(
    wanted: list[tuple[System, int]], folder: Path, parallel: int, batch: str, commit: str, *, repeat: bool
) -> Iterator[KneeRun]:
    with ThreadPoolExecutor(parallel) as pool:
        futures = [
            pool.submit(explored, system, number, folder / f"{system.name}-{number}", batch, commit, repeat=repeat)
            for system, number in wanted
        ]
        for future in as_completed(futures):
            yield future.result()


def explored(system: System, number: int, folder: Path, batch: str, commit: str, *, repeat: bool = False) -> KneeRun:
    """One run of the autopilot."""
    return recorded(
        run(folder, str(system.path), "--autopilot", timeout_s=TIMEOUT_S), system, number, batch, commit, repeat=repeat
    )


def recorded(ran: Ran, system: System, number: int, batch: str, commit: str, *, repeat: bool = False) -> KneeRun:
    """The result of a run beside the true knee."""
    knee, lag_ms = ran.knee or {}, ran.median("loop_lag_p99_ms")
    return KneeRun(
        batch=batch,
        commit=commit,
        system=system.name,
        number=number,
        repeat=repeat,
        true_users=system.knee_users,
        true_rps=system.capacity_rps,
        users=knee.get("users"),
        users_low=knee.get("users_low"),
        users_high=knee.get("users_high"),
        capacity_rps=knee.get("capacity_rps"),
        limit=knee.get("limit"),
        confidence=knee.get("confidence"),
        found=[each["kind"] for each in ran.summary["knees"]],
        seconds=ran.timeline.last_s,
        first_knee_s=next((mark.t_s for mark in ran.marks if mark.kind == "knee"), None),
        levels=len(ran.timeline.levels),
        most_users=max((level.users for level in ran.timeline.levels), default=0),
        exit_code=ran.exit_code,
        load_average=ran.median("load_average_1m"),
        loop_lag_p99_ms=lag_ms,
        generator_cpu_ratio=ran.median("generator_cpu_ratio"),
        target_cpu_ratio=ran.median("target_cpu_ratio"),
        disturbed=lag_ms is None or lag_ms > DISTURBED_LAG_MS,
        session=ran.path.name,
    )


def line(record: KneeRun) -> str:
    """One run as a line for the terminal."""
    if record.users is None:
        result = f"no knee (found: {', '.join(record.found) or 'nothing'})"
    else:
        result = (
            f"knee {record.users:5.1f} [{record.users_low:.1f}-{record.users_high:.1f}] of {record.true_users:g}"
            f"  {record.error:+6.1%}  {'in' if record.holds else 'NOT in'} interval"
            f"  {record.limit}, {record.confidence}, {record.capacity_rps:.4g}/s of {record.true_rps:g}"
        )
    about = f"{record.seconds:.0f} s, up to {record.most_users} users, load {_number(record.load_average)}"
    about += f", lag p99 {_number(record.loop_lag_p99_ms)} ms, exit {record.exit_code}"
    return f"{record.system:14} {record.number:2}{' again' * record.repeat}  {result}; {about}{'  DISTURBED' * record.disturbed}"


def totals(records: list[KneeRun]) -> str:
    """Totals over all runs, without repetitions of disturbed ones."""
    first = [record for record in records if not record.repeat]
    near, covered = sum(record.within(WITHIN) for record in first), sum(record.holds for record in first)
    seconds = sorted(record.seconds for record in first)
    result = (
        f"{near} of {len(first)} within {WITHIN:.0%} (at least {WANTED}), {covered} intervals contain N* (at least {WANTED}),"
    )
    disturbed = sum(record.disturbed for record in first)
    return f"{result} {disturbed} disturbed; median {seconds[len(seconds) // 2]:.0f} s, longest {seconds[-1]:.0f} s"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
