"""p99 of the time from plan at 500/s with the live screen, divided by that of a headless run, both with one worker, on one
server.

PAIRS=1 SECONDS=8 python -m lab.bench rate_p99        # a short form
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from capexplorer.model.events import LevelClosed
from capexplorer.model.histogram import LatencyHistogram

from . import rig

PAIRS = int(os.environ.get("PAIRS", "5"))
SECONDS = float(os.environ.get("SECONDS", "20"))
RATE_PER_S = 500
MOST_RATIO = 1.1
SETTLES_S = 8.0
"""Longest time before the settled seconds, which are measured: start of worker and users, and settling of the level."""


def main() -> None:
    ratios = []
    with rig.fast_server() as (name, url):
        print(f"{name}; {RATE_PER_S}/s offered, one worker, {SECONDS:.0f} s each, {PAIRS} alternating pairs; time from plan")
        print(f"{'headless p50':>13} {'p99 ms':>8} {'screen p50':>11} {'p99 ms':>8} {'p99 ratio':>10}")
        for index in range(PAIRS):
            order = (False, True) if index % 2 == 0 else (True, False)
            found = {on_screen: _explored(url, on_screen=on_screen) for on_screen in order}
            (h50, h99), (s50, s99) = found[False], found[True]
            ratios.append(s99 / h99)
            print(f"{h50:13.2f} {h99:8.2f} {s50:11.2f} {s99:8.2f} {ratios[-1]:10.2f}", flush=True)
    print(f"median ratio {rig.median(ratios):.2f} (at most {MOST_RATIO})")


def _explored(url: str, *, on_screen: bool) -> tuple[float, float]:
    """(p50, p99) of the time from plan, in ms, over the settled seconds of one rate level."""
    with tempfile.TemporaryDirectory() as folder:
        profile, sessions = Path(folder) / "bench.toml", Path(folder) / "sessions"
        profile.write_text(rig.PROFILE.format(url=url, users=1, wait_s=0, client="fast", path="/"))
        seconds = SECONDS + SETTLES_S
        plan = ["--workers", "1", "--plan", f"rate {RATE_PER_S}/s {seconds:g}s"]
        command = [str(rig.BIN / "capexplorer"), "run", str(profile), "--sessions-dir", str(sessions), *plan]
        if on_screen:
            run = rig.OnTerminal(command)
            run.seen(b"settl")
            time.sleep(seconds)
            run.end()
        else:
            subprocess.run([*command, "--headless"], check=True, capture_output=True)
        closed = [event for event in rig.Run(sessions).events if isinstance(event, LevelClosed) and event.offered_per_s]
    p50_ms, p99_ms = _from_plan(closed).percentiles_ms((0.50, 0.99))
    return p50_ms or 0.0, p99_ms or 0.0


def _from_plan(levels: list[LevelClosed]) -> LatencyHistogram:
    merged = LatencyHistogram()
    for level in levels:
        if level.figures.offered is not None and level.figures.offered.from_plan is not None:
            merged.add(LatencyHistogram.decode(level.figures.offered.from_plan))
    return merged
