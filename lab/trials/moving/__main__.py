"""`make moving`: every row with both clients; results and docs/moving.md are written as each run ends.

    python -m lab.trials.moving [ROW...] [--axis users|rates] [--client C] [--workers N] [--repeats N] [--parallel N] [--unsaved]

The services sleep rather than compute, so several can run at once. What is wrong beside other runs is repeated alone, and the
last run counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime
from pathlib import Path

import msgspec

from lab.trials.attempts import carried_out
from lab.trials.programs import missing
from lab.trials.record import commit

from . import page, records
from .exploration import explored
from .records import MovingRun
from .row import AXES, CLIENTS, Client, Row
from .rows import ALL


def main() -> int:
    """Carry out the rows that the command line names. Returns the exit code: 1 if a run is wrong."""
    options = _options()
    rows = [ALL[name] for name in options.rows or ALL]
    rows = [row for row in rows if row.axis in (options.axis or AXES)]
    for row in rows:
        if why := missing(*row.needs):
            print(f"left out: {row.name}: {why}", file=sys.stderr)
    clients: tuple[Client, ...] = (options.client,) if options.client else CLIENTS
    repeats = range(1, options.repeats + 1)
    wanted = [(row, client, number) for number in repeats for row in rows for client in clients if not missing(*row.needs)]
    folder = Path(tempfile.mkdtemp(prefix="moving-"))
    results = []
    for result in _in_turn(options.parallel, wanted, options.workers, folder):
        print(_line(result), flush=True)
        results.append(result)
        if not options.unsaved:
            records.append(result)
            page.write()
    last = records.latest(results)
    print(f"{sum(run.right for run in last)} of {len(last)} right; sessions: {folder}")
    return 0 if all(run.right for run in last) else 1


def _in_turn(parallel: int, wanted: Iterable[tuple[Row, Client, int]], workers: int, folder: Path) -> Iterator[MovingRun]:
    """The result of each run as it ends; then each run that was wrong beside others once more, alone."""
    again = []
    with ThreadPoolExecutor(parallel) as pool:
        running = {pool.submit(_result, *one, workers, parallel, folder / "first"): one for one in wanted}
        for ended in as_completed(running):
            result = ended.result()
            yield result
            if result.disturbed and not result.right:
                again.append(running[ended])
    for one in again:
        yield _result(*one, workers, 1, folder / "alone")


def _result(row: Row, client: Client, number: int, workers: int, parallel: int, folder: Path) -> MovingRun:
    """Carry out one run. One that cannot be carried out is wrong."""
    run = MovingRun(commit=commit(), row=row.name, client=client, number=number, workers=workers, parallel=parallel)
    ran, why, seconds = carried_out("", lambda: explored(row, run, folder / f"{row.name}-{client}-{number}"))
    ended_at = datetime.now().astimezone().isoformat(timespec="seconds")
    return msgspec.structs.replace(ran or run, at=ended_at, **({} if ran else {"wrong": (why,), "seconds": seconds}))


def _line(run: MovingRun) -> str:
    return f"{run.row} ({run.client}): {'; '.join(run.wrong) or 'right'}; once: {run.once}; {run.verdict}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.moving", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only these")
    parser.add_argument("--axis", choices=AXES, help="only rows whose plans have user counts, or offered rates")
    parser.add_argument("--client", choices=CLIENTS)
    parser.add_argument("--workers", type=int, default=0, help="worker processes; these runs have results of their own")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=3)
    parser.add_argument("--unsaved", action="store_true", help="leave the results and the page as they are")
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ALL]:
        parser.error(f"no such row: {', '.join(unknown)}; rows: {', '.join(ALL)}")
    if importlib.util.find_spec("uvicorn") is None:
        parser.error("uvicorn is not installed: `make moving` installs lab/trials/services/requirements.lock first")
    return options


if __name__ == "__main__":
    sys.exit(main())
