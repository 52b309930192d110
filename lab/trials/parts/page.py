"""The results: one line per run on the terminal; in docs/parts.md a table with the newest run of each row and place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from lab.trials.reworded import reworded

from .records import Result, latest
from .rows import ALL, NOT_INJECTED

PAGE = Path(__file__).resolve().parents[3] / "docs" / "parts.md"

_INTRODUCTION = """\
# Faults in watched parts

Written by `make parts` from `lab/trials/results/parts.jsonl`; not by hand. nginx (`proxy`), a service of one Python process
(`web`) and PostgreSQL (`db`) are watched parts ([watch.md](watch.md)). In the place *namespaces* they run in three network
namespaces, and each is read over an SSH server in its namespace. In the place *here* they run in the generator's namespace
and are read without SSH. Load goes to nginx, which in the place *here* is the target as well.

One fault is injected into one part. A run is right if the expected finding is marked for that part, and if at no moment
another bottleneck, leak or state of a watched part is marked. Failures of requests, which most of these faults also cause,
are judged in [faults.md](faults.md). The last rows repeat a fault with hosts that have no Python 3, that are read by another
user, whose clock is 90 s off, or that are read over a link with a round trip of 200 ms and 1% loss.

The namespaces of one machine share its cores and disks, so a part may really lack CPU that another one uses. A run that is
not right is repeated once if other processes kept more than half a core busy. If the finding is then still missing, but nothing
wrong was marked, the run counts as spoilt by other processes: neither right nor wrong."""

_COLUMNS = ("fault", "place", "expected", "marked", "evidence", "verdict", "busy cores of others", "commit")


def line(result: Result) -> str:
    """One run in one line."""
    state = "skip" if result.skipped else "ok  " if result.right else "busy" if result.spoilt else "FAIL"
    ran = f"{state} {result.row:19} {result.place:10} ({result.seconds} s, others {result.neighbours:g} cores)"
    words = result.evidence if result.right else result.verdict
    return f"{ran} expected {' or '.join(result.expected) or 'nothing'}; marked {', '.join(result.marked) or 'nothing'} | {words}"


def write() -> None:
    """Write the page from the results."""
    order = {name: index for index, name in enumerate(ALL)}
    results = sorted(
        (each for each in latest() if each.row in ALL), key=lambda each: (order[each.row], each.place != "namespaces")
    )
    table = [f"| {' | '.join(_COLUMNS)} |", "|" + " --- |" * len(_COLUMNS), *map(_row, results)]
    left_out = ["Not injected:", "", *(f"- {what}: {why}." for what, why in NOT_INJECTED.items())]
    parts = [_INTRODUCTION, _totals(results), _reader(results), "\n".join(table), "\n".join(left_out)]
    PAGE.write_text(reworded("\n\n".join(part for part in parts if part) + "\n"), encoding="utf-8")


def _totals(results: list[Result]) -> str:
    rows = {each.row for each in results}
    both = sum([each.right for each in results if each.row == row] == [True, True] for row in rows)
    return f"{len(rows)} of {len(ALL)} rows, {counted(results)}. {both} rows are right in both places."


def counted(results: Sequence[Result]) -> str:
    """Number of results of each kind."""
    kinds = {name: sum(getattr(each, name) for each in results) for name in ("right", "wrong", "spoilt", "skipped")}
    return (
        f"{len(results)} runs: {kinds['right']} right, {kinds['wrong']} wrong, {kinds['spoilt']} spoilt by other processes "
        f"(to be repeated on an idle machine), {kinds['skipped']} skipped"
    )


def _reader(results: list[Result]) -> str:
    """One sentence on the CPU use of readers at the other end of SSH; empty without such runs."""
    shares = [share for each in results if each.place == "namespaces" for share in each.reader_cpu_ratio.values()]
    if not shares:
        return ""
    return (
        f"A reader at the other end of SSH used {fmean(shares):.2%} of a core on average, {max(shares):.2%} at most, "
        f"over {len(shares)} readers, each a mean over its run."
    )


def _row(result: Result) -> str:
    cells = [
        f"**{result.row}**: {result.fault}",
        result.place,
        " or ".join(f"`{each}`" for each in result.expected) or "–",
        "<br>".join(f"`{each}`" for each in result.marked) or "–",
        result.evidence or "–",
        result.verdict if result.right or result.skipped else f"**{result.verdict}**",
        f"{result.neighbours:g}",
        f"{result.commit}, {result.at[:10]}",
    ]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
