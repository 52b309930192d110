"""Output of benchmarks, saved in a file with the commit and the machine's load, and compared with that of another run.

Lines match if they differ only in figures; among several such lines the first one matches the first one. Whether a difference is
more than noise is not judged: a benchmark prints its own spread, and the first lines show the load of the machine.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

import msgspec

from lab.kit.record import Conditions


class Kept(msgspec.Struct, kw_only=True):
    began: Conditions
    load_average_1m: float = 0.0
    """Load average of the machine when the last benchmark had ended."""
    printed: dict[str, list[str]] = {}
    """Printed lines by benchmark, in the order in which they ran."""


class _Tee(io.StringIO):
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
    return msgspec.json.decode(path.read_bytes(), type=Kept)


FIGURE = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]*_)")


def compared_lines(old: Kept, new: Kept) -> Iterator[str]:
    for name, kept in (("old", old), ("new", new)):
        loads = f"load {kept.began.load_average_1m:g} to {kept.load_average_1m:g} on {kept.began.cpus} cores"
        yield f"{name}: commit {kept.began.commit}, {kept.began.started_at}, {loads}"
    for name, lines in new.printed.items():
        yield f"\n== {name}"
        yield from _of_benchmark(old.printed[name], lines) if name in old.printed else ["only in new"]
    yield from (f"\n== {name}\nonly in old" for name in old.printed if name not in new.printed)


def _of_benchmark(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for line in old:
        waiting[shape(line)].append(line)
    for line in new:
        same = waiting[shape(line)]
        yield from _of_line(same.pop(0), line) if same else [f"{line}\n    only in new"]
    yield from (f"{line}\n    only in old" for lines in waiting.values() for line in lines)


def shape(line: str) -> str:
    """The line with # for each figure and single spaces between words: equal for lines that match."""
    return " ".join(FIGURE.sub("#", line).split())


def _of_line(old: str, new: str) -> Iterator[str]:
    """The new line and, if any of its figures changed, the old and new figures and their ratios in columns."""
    yield new
    before, after = FIGURE.findall(old), FIGURE.findall(new)
    if before == after:
        return
    columns = [(*pair, _ratio(*pair)) for pair in zip(before, after, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    for index, name in enumerate(("old", "new", "new/old")):
        cells = (column[index].rjust(width) for column, width in zip(columns, widths, strict=True))
        yield f"    {name:8}{'  '.join(cells)}"


def _ratio(old: str, new: str) -> str:
    before, after = (float(figure.replace(",", "")) for figure in (old, new))
    return "=" if before == after else "–" if before == 0 else f"{after / before:.2f}"
