"""Compares two saved runs of benchmarks: for each line that both printed, its figures before and after, and their ratio.

Lines match if they differ only in figures; among several such lines the first one matches the first one. Whether a difference is
more than noise is not judged: a benchmark prints its own spread, and the first lines show the load of the machine.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from .kept import Kept

FIGURE = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]*_)")


def compared_lines(old: Kept, new: Kept) -> Iterator[str]:
    """The lines of the comparison."""
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
