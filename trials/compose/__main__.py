"""`python -m trials.compose [ROW...]`: exit code 1 when a row has a problem, 0 when docker is not there."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import monotonic

from .rows import ROWS
from .stack import make_image, why_not


def main(names: list[str]) -> int:
    """Carry out these rows, or all."""
    if reason := why_not():
        print(f"skipped: {reason}")
        return 0
    problems = 0
    with tempfile.TemporaryDirectory(prefix="compose-") as folder:
        make_image(Path(folder))
        for name in names or ROWS:
            own = Path(folder) / name
            own.mkdir()
            began_s = monotonic()
            found = ROWS[name](own)
            problems += len(found)
            print(f"{name}: {'; '.join(found) or 'as expected'} ({monotonic() - began_s:.0f} s)", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
