"""`make parts`: all rows, or `python -m trials.parts [ROW...] [--place P] [--keep FOLDER] [--unsaved]`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from time import monotonic

from trials.experiments.knees import commit
from trials.faults.evidence import in_words
from trials.faults.judge import HARMLESS, latest, relevant

from . import page, records
from .carrying import Ran, carry_out, why_not
from .judge import blamed
from .row import PLACES, Place, Row
from .rows import ALL


def main() -> int:
    """Exit code 1 when a verdict was wrong."""
    options = _options()
    rows = [ALL[name] for name in options.names] or list(ALL.values())
    keep = options.keep or Path(tempfile.mkdtemp(prefix="parts-", dir="/tmp"))
    keep.mkdir(parents=True, exist_ok=True)
    keep.chmod(0o755)
    asked = [(row, place) for row in rows for place in row.places if place in (options.place or PLACES)]
    results = [_settled(row, place, keep, options) for row, place in asked]
    wrong = [result for result in results if not result.right and not result.skipped]
    print(f"{len(results)} runs, {len(wrong)} wrong", flush=True)
    return 1 if wrong else 0


def _settled(row: Row, place: Place, keep: Path, options: argparse.Namespace) -> records.Result:
    """Wrong while other processes were busy: once again. Every run is recorded."""
    for attempt in range(options.attempts):
        result = _result(row, place, keep / f"{row.name}-{place}-{attempt + 1}", save=not options.unsaved)
        if result.right or not result.disturbed:
            break
    return result


def _result(row: Row, place: Place, folder: Path, save: bool) -> records.Result:
    since_s, reason = monotonic(), why_not()
    shutil.rmtree(folder, ignore_errors=True)
    verdict, ran = f"skipped: {reason}", None
    if not reason:
        try:
            ran = carry_out(row, place, folder)
            verdict = ran.verdict.sentence
        except Exception as error:  # the other rows are to be seen all the same
            verdict = f"wrong: not carried out: {error}"
    result = _record(row, place, ran, verdict, monotonic() - since_s)
    print(page.line(result), flush=True)
    if save:
        records.append(result)
        page.write()
    if result.right:
        shutil.rmtree(folder, ignore_errors=True)
    return result


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
    parser = argparse.ArgumentParser(prog="python -m trials.parts", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ROW", help=f"of {', '.join(ALL)}")
    parser.add_argument("--place", action="append", choices=PLACES)
    parser.add_argument("--attempts", type=int, default=2, help="of a row whose verdict is wrong (default 2)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sessions of wrong rows are kept")
    parser.add_argument("--unsaved", action="store_true", help="leave the results and the page as they are")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
