"""Terminal output at 120x40 in 256 colours, and the CPU of the screen's thread, while 50 users run and levels change.

Measured with a service that answers all requests, and with one that fails 100,000 requests per minute.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from . import rig

SECONDS = 60.0


def main() -> None:
    with rig.fast_server() as (name, url):
        print(f"{name}; 50 users, 120x40, xterm-256color; {SECONDS:.0f} s")
        print("baseline: six panes redrawn whole at 1 Hz were 29 KB/s; goal 10, at most 20; the screen's thread at most 5%")
        _measure("0.1 s wait, answers", rig.PROFILE.format(url=url, users=50, wait_s=0.1, client="fast", path="/"))
        if name == "nginx":
            _measure("0.025 s wait, fails", rig.PROFILE.format(url=url, users=50, wait_s=0.025, client="fast", path="/fails"))


def _measure(name: str, profile: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, sessions = Path(folder) / "bench.toml", Path(folder) / "sessions"
        file.write_text(profile)
        run = rig.OnTerminal([str(rig.BIN / "capexplorer"), "run", str(file), "--sessions-dir", str(sessions)])
        run.seen(b"settl")
        time.sleep(2)
        first_bytes = sum(len(data) for _, data in run.chunks)
        began_s = time.monotonic()
        time.sleep(SECONDS / 2)
        middle_s = time.monotonic()
        for _ in range(6):
            run.press("+")
            time.sleep(SECONDS / 12)
        ended_s = time.monotonic()
        steady = run.bytes_between(began_s, middle_s) / (middle_s - began_s)
        stepping = run.bytes_between(middle_s, ended_s) / (ended_s - middle_s)
        run.end()
        found = rig.Run(sessions)
    failures = sum(failure.count for sample in found.samples for failure in sample.failures)
    generators = [sample.generator for sample in found.samples if sample.generator]
    screen = rig.mean([each.screen_cpu_ratio for each in generators])
    recorder = rig.mean([each.recorder_cpu_ratio for each in generators])
    print(f"{name}: {failures / max(found.samples[-1].t_s, 1) * 60:,.0f} failures per minute")
    print(
        f"  first screen {first_bytes / 1e3:.1f} KB, steady {steady / 1000:.1f} KB/s, a step every 5 s {stepping / 1000:.1f} KB/s"
    )
    print(f"  screen's thread {100 * screen:.1f}% of a core, recorder's {100 * recorder:.1f}%", flush=True)
