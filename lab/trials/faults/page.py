"""The results: one line per run on the terminal; in docs/faults.md a table with the newest run of each row and client."""

from __future__ import annotations

from collections.abc import Iterable

from lab.trials.reworded import reworded

from .records import Result, latest
from .rows import ALL
from .testbed import HERE

PAGE = HERE.parents[2] / "docs" / "faults.md"

_INTRODUCTION = """\
# The fault matrix

Written by `make faults` from `lab/trials/faults/results/`; not by hand. Each row injects one real fault and runs capexplorer
headless. A run is right if the expected ids are marked, and if at no moment another cause of severity error or above, another
bottleneck or another leak is marked. On healthy services no cause may be marked at all, and no bottleneck except
`think_time_limited` and `not_saturated`. In the rows `moving`, in which other processes start and end, no point of the capacity
curve may be marked, except in `neighbour-disk` ([knee.md](knee.md#known-weaknesses)). `noisy_neighbours` is right wherever other
processes used 0.2 cores or more for 10 s.
[causes.md](causes.md) lists all ids.

A wrong run is *disturbed* if other processes kept more than half a core busy for 10 s, since its marks may be true of them. It is
repeated once, and the last run counts. All runs are in the results.

The rows are in `lab/trials/faults/*.py`; `make faults ROWS="gil pool"` runs some of them, `--workers 2` all
with load from worker processes."""

_COLUMNS = ("fault", "client", "expected", "marked", "evidence", "verdict", "commit")


def line(result: Result) -> str:
    """One run in one line."""
    state = "skip" if result.skipped else "ok  " if result.right else "FAIL"
    disturbed = f", disturbed: others used {result.neighbours:g} cores" * result.disturbed
    marked = ", ".join(result.marked) or "nothing"
    reported = result.verdict if not result.right else result.evidence
    expected = ", ".join(result.expected) or "nothing"
    ran = f"{state} {result.row:24} {client_of(result):18} ({result.seconds:.0f} s{disturbed})"
    return f"{ran} expected {expected}; marked {marked} | {reported}"


def client_of(result: Result) -> str:
    """The client class, with the number of workers if the run had any."""
    return f"{result.client}, {result.workers} workers" if result.workers else result.client


def write() -> None:
    """Write the page from the results."""
    results = [result for result in latest() if result.row in ALL]
    order = {name: index for index, name in enumerate(ALL)}
    results.sort(key=lambda result: (order[result.row], result.client, result.workers))
    parts = [_INTRODUCTION, _totals(results)]
    for family in dict.fromkeys(row.family for row in ALL.values()):
        parts += [f"## {family.capitalize()}", _table(result for result in results if result.family == family)]
    PAGE.write_text(reworded("\n\n".join(parts) + "\n"), encoding="utf-8")


def _totals(results: list[Result]) -> str:
    rows = {result.row for result in results}
    right, skipped = sum(result.right for result in results), sum(result.skipped for result in results)
    commits = ", ".join(dict.fromkeys(result.commit for result in sorted(results, key=lambda each: each.at)))
    wrong = len(results) - right - skipped
    return f"{len(rows)} rows, {len(results)} runs: {right} right, {skipped} skipped, {wrong} wrong ({commits})."


def _table(results: Iterable[Result]) -> str:
    rows = [f"| {' | '.join(_COLUMNS)} |", "|" + " --- |" * len(_COLUMNS)]
    return "\n".join(rows + [_row(result) for result in results])


def _row(result: Result) -> str:
    verdict = result.verdict if result.right or result.skipped else f"**{result.verdict}**"
    cells = [
        f"**{result.row}**: {result.fault}",
        client_of(result),
        "<br>".join(f"`{each}`" for each in result.expected) or "–",
        "<br>".join(f"`{each}`" for each in result.marked) or "–",
        result.evidence or "–",
        verdict,
        f"{result.commit}, {result.at[:10]}",
    ]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
