"""Delay from a key press to the changed number of wanted users: from sending the key to the opening of the level, wall time."""

from __future__ import annotations

import tempfile
import time
from datetime import datetime
from pathlib import Path

from capexplorer.model.events import Header, LevelOpened

from . import rig

KEYS = 20


def main() -> None:
    with rig.fast_server() as (name, url), tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "bench.toml"
        profile.write_text(rig.PROFILE.format(url=url, users=50, wait_s=0.1, client="fast", path="/"))
        sessions = Path(folder) / "sessions"
        run = rig.OnTerminal([str(rig.BIN / "capexplorer"), "run", str(profile), "--sessions-dir", str(sessions)])
        run.seen(b"settl")
        time.sleep(3)
        pressed_s, echoed_s = [], []
        for _ in range(KEYS):
            before = len(run.chunks)
            pressed_s.append(time.time())
            sent_s = time.monotonic()
            run.press("+")
            while len(run.chunks) == before:
                time.sleep(0.001)
            echoed_s.append(run.chunks[before][0] - sent_s)
            time.sleep(0.37)  # so that keys are not synchronous with the redraw once a second
        run.end()
        events = rig.Run(sessions).events
    header = next(event for event in events if isinstance(event, Header))
    began_s = datetime.fromisoformat(header.started_at).timestamp()
    opened_s = [began_s + event.t_s for event in events if isinstance(event, LevelOpened)][1 : 1 + KEYS]
    delays_ms = sorted((opened - pressed) * 1000 for opened, pressed in zip(opened_s, pressed_s, strict=True))
    echoes_ms = sorted(each * 1000 for each in echoed_s)
    print(f"{name}; 50 users, 0.1 s wait; {KEYS} keys")
    print(f"key to level opened, ms: median {delays_ms[KEYS // 2]:.1f}, worst {delays_ms[-1]:.1f} (at most 150)")
    print(f"key to the screen's output, ms: median {echoes_ms[KEYS // 2]:.1f}, worst {echoes_ms[-1]:.1f} (at most 150)")
