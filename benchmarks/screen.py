"""Terminal output at 120x40 in 256 colours, and the CPU of the screen's thread, while 50 users run and levels change."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from . import rig

SECONDS = 60.0


def main() -> None:
    with rig.fast_server() as (name, url), tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "bench.toml"
        profile.write_text(rig.PROFILE.format(url=url, users=50, wait_s=0.1, client="fast"))
        sessions = Path(folder) / "sessions"
        run = rig.OnTerminal([str(rig.BIN / "capexplorer"), "run", str(profile), "--sessions-dir", str(sessions)])
        run.seen(b"settl")
        time.sleep(2)
        whole = sum(len(data) for _, data in run.chunks)
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
        samples = rig.Run(sessions).samples
    shares = [s.generator.screen_cpu_ratio for s in samples if s.generator and s.generator.screen_cpu_ratio is not None]
    recorder = [s.generator.recorder_cpu_ratio for s in samples if s.generator and s.generator.recorder_cpu_ratio is not None]
    print(f"{name}; 50 users, 0.1 s wait, 120x40, xterm-256color; {SECONDS:.0f} s")
    print(f"first screen {whole / 1000:.1f} KB (baseline: six panes redrawn whole at 1 Hz were 29 KB/s)")
    print(f"steady {steady / 1000:.1f} KB/s, a step every 5 s {stepping / 1000:.1f} KB/s (goal 10, at most 20)")
    print(f"screen's thread {100 * sum(shares) / len(shares):.1f}% of a core (at most 5%)")
    print(f"recorder's thread {100 * sum(recorder) / len(recorder):.1f}% of a core")
