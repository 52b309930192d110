"""`make faults`: all rows, or `python -m lab.trials.faults [ROW...] [--client C] [--family F] [--keep FOLDER]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import datetime
from functools import partial
from pathlib import Path

from lab.trials.attempts import carried_out, repeated_if_disturbed
from lab.trials.record import commit

from . import page, records
from .evidence import in_words
from .execution import Ran, carry_out, why_not
from .judge import latest, relevant, reported
from .row import CLIENTS, FAMILIES, Client, Row
from .rows import ALL

ATTEMPTS = 2

_WORST_FIRST = ("critical", "error", "warning", "info")


def main() -> int:
    options = _options()
    rows = [ALL[name] for name in options.names] or list(ALL.values())
    rows = [row for row in rows if not options.family or row.family in options.family]
    keep = options.keep or Path(tempfile.mkdtemp(prefix="faults-"))
    chosen = [(row, client) for row in rows for client in row.clients if client in (options.client or CLIENTS)]
    results = [
        repeated_if_disturbed(
            partial(_result, row, client, options.workers),
            partial(_keep, save=not options.unsaved),
            [keep / f"{row.name}-{client}-{attempt + 1}" for attempt in range(ATTEMPTS)],
        )
        for row, client in chosen
    ]
    wrong = [result for result in results if not result.right and not result.skipped]
    skipped = sum(result.skipped for result in results)
    print(f"{len(results)} runs: {len(results) - len(wrong) - skipped} right, {skipped} skipped, {len(wrong)} wrong", flush=True)
    if wrong:
        print(f"sessions of the wrong ones: {keep}")
    return 1 if wrong else 0


def _result(row: Row, client: Client, workers: int, folder: Path) -> records.Result:
    ran, why, seconds = carried_out(why_not(row, workers), lambda: carry_out(row, client, folder, workers=workers))
    return _record(row, client, ran, ran.verdict.sentence if ran is not None else why, seconds, workers)


def _keep(result: records.Result, save: bool) -> None:
    print(page.line(result), flush=True)
    if save:
        records.append(result)
        page.write()


def _record(row: Row, client: Client, ran: Ran | None, verdict: str, seconds: float, workers: int) -> records.Result:
    marks = latest(relevant(ran.marks)) if ran else []
    current = sorted((mark for mark in marks if mark.state != "retracted"), key=lambda mark: _WORST_FIRST.index(mark.severity))
    expected = [*row.expected, *([" or ".join(row.one_of)] if row.one_of else [])]
    wanted = {*row.expected, *row.one_of}
    return records.Result(
        at=datetime.now().astimezone().isoformat(timespec="seconds"),
        commit=commit(),
        row=row.name,
        family=row.family,
        client=client,
        workers=workers,
        fault=row.fault,
        expected=expected,
        marked=[f"{mark.id} ({mark.severity})" for mark in current] + sorted(reported(row, ran.stderr) if ran else ()),
        evidence="; ".join(in_words(mark) for mark in current if mark.id in wanted),
        verdict=verdict,
        seconds=seconds,
        neighbours=round(ran.neighbours, 2) if ran else 0.0,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ROW", help=f"of {', '.join(ALL)}")
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sessions of wrong rows are kept")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="generate the load in N worker processes")
    parser.add_argument("--unsaved", action="store_true", help="leave the results and the page as they are")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ALL]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
