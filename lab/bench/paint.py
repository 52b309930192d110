"""Seconds from the start of a command to the first paint of its screen, or to its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from . import rig

TIMES = 7


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows: dict[str, tuple[Callable[[], float], float | None]] = {
            "python -c pass (baseline)": (lambda: _command([sys.executable, "-c", "pass"]), None),
            "import locust, textual.app (baseline)": (
                lambda: _command([sys.executable, "-c", "import locust, textual.app"]),
                None,
            ),
            "capexplorer run: first paint": (lambda: _paint(folder), 1.3),
            "capexplorer --help": (lambda: _command([str(rig.BIN / "capexplorer"), "--help"]), 0.5),
            "capexplorer profiles": (lambda: _command([str(rig.BIN / "capexplorer"), "profiles"]), 0.5),
            "capexplorer sessions": (lambda: _command([str(rig.BIN / "capexplorer"), "sessions"]), 0.5),
            "capexplorer export --help": (lambda: _command([str(rig.BIN / "capexplorer"), "export", "--help"]), 0.5),
        }
        print(f"median of {TIMES}, s")
        for name, (measure, most) in rows.items():
            found = rig.median([measure() for _ in range(TIMES)])
            print(f"{name:40} {found:6.2f}" + (f"   (at most {most})" if most else ""), flush=True)


def _command(argv: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def _paint(folder: str) -> float:
    run = rig.OnTerminal([str(rig.BIN / "capexplorer"), "run", "--users", "0", "--sessions-dir", folder])
    try:
        return run.seen(b"Throughput")
    finally:
        time.sleep(1.0)
        run.end()
