"""`python -m lab.trials.compose [ROW...]`: exit code 1 when a row has a problem, 0 when none has or docker is not installed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import monotonic

from .rows import ROWS
from .stack import image, why_not


def main(names: list[str]) -> int:
    """Carry out these rows, or all."""
    if reason := why_not():
        print(f"skipped: {reason}")
        return 0
    with tempfile.TemporaryDirectory(prefix="compose-") as folder, image(Path(folder)):
        problems = sum(_problems(name, Path(folder) / name) for name in names or ROWS)
    return 1 if problems else 0


def _problems(name: str, folder: Path) -> int:
    """Carry out a row and print its result; returns the number of problems."""
    folder.mkdir()
    began_s = monotonic()
    found = ROWS[name](folder)
    print(f"{name}: {'; '.join(found) or 'as expected'} ({monotonic() - began_s:.0f} s)", flush=True)
    return len(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
