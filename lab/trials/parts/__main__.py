"""`make parts`: all rows, or `python -m lab.trials.parts [ROW...] [--place P] [--attempts N] [--keep FOLDER] [--unsaved]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import datetime
from functools import partial
from pathlib import Path

from lab.trials import contained
from lab.trials.attempts import carried_out, repeated_if_disturbed
from lab.trials.faults.evidence import in_words
from lab.trials.faults.judge import HARMLESS, latest, relevant
from lab.trials.record import commit

from . import page, records
from .execution import Ran, carry_out, why_not
from .judge import blamed
from .row import PLACES, Place, Row
from .rows import ALL


def main() -> int:
    """Carry out the rows that the command line names. Returns the exit code: 1 if a verdict is wrong. A verdict that other
    processes spoilt is not wrong."""
    options = _options()
    if contained.is_needed():
        return contained.rerun()
    rows = [ALL[name] for name in options.names] or list(ALL.values())
    keep = options.keep or Path(tempfile.mkdtemp(prefix="parts-", dir="/tmp"))
    keep.mkdir(parents=True, exist_ok=True)
    keep.chmod(0o755)
    chosen = [(row, place) for row in rows for place in row.places if place in (options.place or PLACES)]
    results = [
        repeated_if_disturbed(
            partial(_result, row, place),
            partial(_keep, save=not options.unsaved),
            [keep / f"{row.name}-{place}-{attempt + 1}" for attempt in range(options.attempts)],
        )
        for row, place in chosen
    ]
    print(page.counted(results), flush=True)
    return 1 if any(result.wrong for result in results) else 0


def _result(row: Row, place: Place, folder: Path) -> records.Result:
    ran, why, seconds = carried_out(why_not(), lambda: carry_out(row, place, folder))
    return _record(row, place, ran, ran.sentence if ran is not None else why, seconds)


def _keep(result: records.Result, save: bool) -> None:
    print(page.line(result), flush=True)
    if save:
        records.append(result)
        page.write()


def _record(row: Row, place: Place, ran: Ran | None, verdict: str, seconds: float) -> records.Result:
    marks = [mark for mark in latest(relevant(ran.marks)) if mark.state != "retracted"] if ran else []
    wanted = [mark for mark in marks if mark.id in row.expected]
    return records.Result(
        at=datetime.now().astimezone().isoformat(timespec="seconds"),
        commit=commit(),
        row=row.name,
        place=place,
        fault=row.fault,
        part=row.part,
        expected=list(row.expected),
        marked=[f"{mark.id} of {blamed(mark, place) or 'no part'}" for mark in marks if mark.id not in HARMLESS],
        evidence="; ".join(in_words(mark) for mark in wanted),
        verdict=verdict,
        seconds=round(seconds),
        neighbours=ran.neighbours if ran else 0.0,
        reader_cpu_ratio=ran.reader_cpu_ratio if ran else {},
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.parts", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ROW", help=f"of {', '.join(ALL)}")
    parser.add_argument("--place", action="append", choices=PLACES)
    parser.add_argument("--attempts", type=int, default=2, help="most runs of a row whose verdict is not right (default 2)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sessions of wrong rows are kept")
    parser.add_argument("--unsaved", action="store_true", help="leave the results and the page as they are")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ALL]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}")
    if options.attempts < 1:
        parser.error("--attempts is at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
