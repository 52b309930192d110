"""Output of benchmarks, saved in a file with the commit and the machine's load, so that two runs can be compared."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

import msgspec

from lab.trials.record import Conditions


class Kept(msgspec.Struct, kw_only=True):
    """One run of some benchmarks."""

    began: Conditions
    load_average_1m: float = 0.0
    """Load average of the machine when the last benchmark had ended."""
    printed: dict[str, list[str]] = {}
    """Printed lines by benchmark, in the order in which they ran."""


class _Tee(io.StringIO):
    """Prints what it keeps."""

    def __init__(self, shown: TextIO) -> None:
        super().__init__()
        self._shown = shown

    def write(self, text: str) -> int:
        self._shown.write(text)
        self._shown.flush()
        return super().write(text)


def printed(benchmark: Callable[[], None]) -> list[str]:
    """Run a benchmark; returns the lines that it printed, which are shown as well."""
    with redirect_stdout(_Tee(sys.stdout)) as tee:
        benchmark()
    return [line.rstrip() for line in tee.getvalue().splitlines() if line.strip()]


def save(kept: Kept, path: Path) -> None:
    """Write the file; called after each benchmark, so that an interrupted run keeps the ones before."""
    kept.load_average_1m = round(os.getloadavg()[0], 2)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def read(path: Path) -> Kept:
    """The run in a file. Raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=Kept)
