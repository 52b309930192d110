"""A session of a day, 86,400 samples of four endpoints in 60 levels: bytes on disk, time to open, time of a seek, memory.

The baseline is the simplest method: decode and fold all events, once to open the session, and again for each seek.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

from capexplorer.replay import Replay
from capexplorer.tui.actions.transport import Transport
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.display_options import LatencyForm
from capexplorer.tui.feed import Playback, RecordedFeed
from capexplorer.tui.screens.inspecting import Inspecting, TimeWindow
from lab.kit.tables import percentile
from lab.kit.terminal import OnTerminal

from .app import replayed
from .day_log import DAY_S, ENDPOINTS, LEVELS, write_day

SEEKS = 200
MB = 1_000_000


def day(against: Path | None = None) -> None:
    """All figures. `against`: another checkout, which is measured as well, alternating with this one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "day.jsonl"
        began_s = time.monotonic()
        write_day(path)
        print(f"{DAY_S:,} samples, {len(ENDPOINTS)} endpoints, {LEVELS} levels; written in {time.monotonic() - began_s:.0f} s")
        print(f"on disk                          {path.stat().st_size / MB:6.1f} MB   (at most 200); there is no index file")
        _baseline(path)
        _open(path, against)
        _keys(path, against)
        asyncio.run(_seek(path))
        asyncio.run(_inspect(path))


def _baseline(path: Path) -> None:
    """The simplest method, in a process of its own, since its memory is measured as well."""
    done = subprocess.run([sys.executable, "-m", "lab.bench.day", str(path)], check=True, capture_output=True, text=True)
    seconds, peak_mb = (float(word) for word in done.stdout.split())
    print(f"baseline: decode and fold all    {seconds:6.2f} s, {peak_mb:.0f} MB: to open, and again for each seek back")


def _naive(path: Path) -> None:
    from capexplorer.model.timeline import Timeline
    from capexplorer.session.reader import read

    began_s = time.perf_counter()
    timeline = Timeline(read(path))
    for level in timeline.levels:
        _ = level.figures, level.endpoints
    print(time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB)


def _open(path: Path, other: Path | None) -> None:
    """The whole command on a terminal, from its start, without caches of earlier runs."""
    here: list[_Opened] = []
    there: list[_Opened] = []
    for _ in range(3):  # alternating: the speed of a machine changes within minutes
        here.append(_opened(path, Path.cwd()))
        if other is not None:
            there.append(_opened(path, other))
    print(f"command to first paint           {_median(here, 'first_s'):6.2f} s    (at most 1.5)")
    print(f"command to all read, end shown   {_median(here, 'whole_s'):6.2f} s    (at most 1.5)")
    print(f"CPU of the process until then    {_median(here, 'cpu_s'):6.2f} s")
    print(f"memory at its peak               {_median(here, 'peak_mb'):6.0f} MB   (at most 300)")
    for name in _Opened._fields if there else ():
        print(f"over {other}, {name:8} {_median(here, name) / _median(there, name):5.2f}   (ratio of medians, in turn)")


class _Opened(NamedTuple):
    """Seconds from the start of the command to the first paint and until the end of the session is shown, CPU, peak memory."""

    first_s: float
    whole_s: float
    cpu_s: float
    peak_mb: float


def _median(runs: Sequence[_Opened], name: str) -> float:
    return float(median(getattr(run, name) for run in runs))


def _opened(path: Path, checkout: Path) -> _Opened:
    with replayed(path, "end", checkout) as run:
        pid, first_s = run.process.pid, run.seen_s(b"Throughput")
        whole_s, cpu_s = run.seen_s(b"session ended"), _cpu_s(pid)
        for _ in range(30):
            run.type("w")  # all time windows, `all` among them
            run.type(DOWN)  # and levels, one after another
            time.sleep(0.05)
        status = Path(f"/proc/{pid}/status").read_text()
        run.quit()
    return _Opened(first_s, whole_s, cpu_s, int(status.split("VmHWM:")[1].split()[0]) * 1024 / MB)


def _cpu_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


FRAME_ENDS_S = 0.06
"""Seconds without output after which a frame is complete: it is written in one or two pieces."""
LEFT, RIGHT, UP, DOWN, LEAP_LEFT, LEAP_RIGHT = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B", "\x1b[1;2D", "\x1b[1;2C"
MOVING_KEYS = (LEFT, LEFT, UP, RIGHT, LEAP_LEFT, DOWN, RIGHT, LEAP_RIGHT, LEAP_LEFT, DOWN)

PREPARED_S = 25.0
"""Seconds after reading by which the index for fast seeks is complete."""
TURN = 20
"""Keys that one process gets before the other one gets as many."""


def _keys(path: Path, other: Path | None) -> None:
    """Time from a key to the last byte of its frame on a terminal of 120x40, for keys that move the time of a replay, then for
    keys that move the inspection cursor. The replay is paused: a frame of the clock within FRAME_ENDS_S would count as part of
    a key's.
    """
    checkouts = [Path.cwd(), *([other] if other is not None else [])]
    with ExitStack() as stack:
        runs = [stack.enter_context(replayed(path, "50%", checkout)) for checkout in checkouts]
        for run in runs:
            run.seen_s(b"Throughput")
            run.type(" ")
        for run in runs:
            _until_quiet(run, PREPARED_S)
        for sentence, first in (("replay, time moved", "w"), ("inspection cursor moved", "i")):
            took_ms: list[list[float]] = [[] for _ in runs]
            used_s = [0.0 for _ in runs]
            for run in runs:
                _painted_ms(run, first)
            for index in range(SEEKS // TURN * len(runs)):
                which = index % len(runs)
                began_cpu_s = _cpu_s(runs[which].process.pid)
                took_ms[which] += [_painted_ms(runs[which], MOVING_KEYS[press % len(MOVING_KEYS)]) for press in range(TURN)]
                used_s[which] += _cpu_s(runs[which].process.pid) - began_cpu_s
            for checkout, took, used in zip(checkouts, took_ms, used_s, strict=True):
                cpu, where = f"cpu mean {1000 * used / SEEKS:5.1f} ms", "" if checkout == Path.cwd() else f" in {checkout}"
                print(f"{sentence + ', key to painted frame':46} {_figures(took)}, {cpu}   (at most 50){where}", flush=True)
        for run in runs:
            run.quit()


def _figures(took_ms: Sequence[float]) -> str:
    return f"median {median(took_ms):5.1f}, p95 {percentile(took_ms, 0.95):5.1f}, worst {max(took_ms):5.1f}"


def _painted_ms(run: OnTerminal, key: str) -> float:
    before, began_s = len(run.chunks), time.monotonic()
    run.type(key)
    while len(run.chunks) == before and time.monotonic() < began_s + 2.0:
        time.sleep(0.001)
    _until_quiet(run, FRAME_ENDS_S)
    return 1000 * (run.chunks[-1][0] - began_s)


def _until_quiet(run: OnTerminal, quiet_s: float) -> None:
    """Wait until nothing was written for `quiet_s`, at most a minute."""
    until_s = time.monotonic() + 60.0
    while time.monotonic() < min(until_s, run.chunks[-1][0] + quiet_s):
        time.sleep(0.005)


async def _seek(path: Path) -> None:
    """Time from the key to the drawn panes and bar at 120x40, at random moments, without the time of the terminal."""
    recording = Replay(path)
    recording.read_on()
    feed = RecordedFeed(recording, Playback())
    transport = Transport(feed)
    app = ExplorerApp(feed, transport)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        rng = random.Random(7)
        transport.performs["play"]()
        for sentence, window_s in (("5 min, at once", 300.0), ("5 min", 300.0), ("all 24 h", None)):
            app.explorer.inspecting.time, took_ms = TimeWindow(window_s), []
            if sentence == "5 min":
                await pilot.pause(4.0)  # by then the index for fast seeks is complete
            for _ in range(SEEKS):
                aim_s = rng.random() * recording.duration_s
                began_s = time.perf_counter()
                transport.seek(aim_s)
                took_ms.append(1000 * (time.perf_counter() - began_s))
                await pilot.pause()
            print(f"seek, six panes, {sentence:15} {_figures(took_ms)} ms   (at most 50)")
    recording.close()


MOVES: dict[str, Callable[[Inspecting, random.Random], None]] = {
    "by a second": lambda cursor, rng: cursor.action_cursor(rng.choice((-1, 1))),
    "by a level": lambda cursor, rng: cursor.action_cursor_level(rng.choice((-1, 1))),
    "to any second": lambda cursor, rng: cursor.point(rng.random() * DAY_S, by_load=False),
    "along the curve": lambda cursor, rng: cursor.point(rng.random() * 100, by_load=True),
}

MOVES_EACH = 40
VIEWS: tuple[tuple[float | None, LatencyForm], ...] = ((300.0, "lines"), (None, "lines"), (300.0, "heatmap"), (None, "heatmap"))


async def _inspect(path: Path) -> None:
    """Time from a key that moves the inspection cursor to the drawn panes and values, in a session that is shown to its end."""
    recording = Replay(path)
    recording.read_on()
    feed = RecordedFeed(recording, Playback(), whole=True)
    app = ExplorerApp(feed, Transport(feed), whole=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(4.0)
        cursor, rng = app.explorer.inspecting, random.Random(7)
        for window_s, form in VIEWS:
            cursor.time, app.explorer.options.latency_form = TimeWindow(window_s), form
            cursor.action_inspect()  # prepares the data of the first heatmap, which is not measured
            for sentence, move in MOVES.items():
                took_ms, cpu_ms = [], []
                for _ in range(MOVES_EACH):
                    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
                    move(cursor, rng)
                    took_ms.append(1000 * (time.perf_counter() - began_s))
                    cpu_ms.append(1000 * (time.thread_time() - began_cpu_s))
                    await pilot.pause()
                shown = "all 24 h" if window_s is None else "5 min"
                cpu = f"cpu median {median(cpu_ms):5.1f}"
                print(f"cursor, {form:7} {shown:8} {sentence:15} {_figures(took_ms)}, {cpu} ms   (at most 50)", flush=True)
    recording.close()


if __name__ == "__main__":
    _naive(Path(sys.argv[1]))
