"""`make moving`: every row with both clients; results by axis, and docs/moving.md.

    python -m trials.moving [ROW...] [--axis users|rates] [--client C] [--workers N] [--repeats N] [--parallel N]

The services sleep rather than compute, so several can run at once.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from trials.programs import missing
from trials.record import Conditions, save

from . import page
from .exploration import MovingRun, explored
from .row import AXES, CLIENTS, Axis, Client, Row
from .rows import ALL


def main() -> int:
    options = _options()
    axes: tuple[Axis, ...] = (options.axis,) if options.axis else AXES
    chosen = [ALL[name] for name in options.rows or ALL if ALL[name].axis in axes]
    for row in chosen:
        if why := missing(*row.needs):
            print(f"left out: {row.name}: {why}", file=sys.stderr)
    clients: tuple[Client, ...] = (options.client,) if options.client else CLIENTS
    repeats = range(1, options.repeats + 1)
    wanted = [(row, client, number) for number in repeats for row in chosen for client in clients if not missing(*row.needs)]
    folder, began = Path(tempfile.mkdtemp(prefix="moving-")), Conditions.now()
    with ThreadPoolExecutor(options.parallel) as pool:
        runs = list(pool.map(lambda one: _reported(one[0], one[1], one[2], options.workers, folder), wanted))
    right = sum(not run.wrong for run in runs)
    print(f"{right} of {len(runs)} right")
    if options.rows or (options.client and not options.workers):
        print(f"sessions: {folder}")
        return 0
    order = list(ALL)
    runs.sort(key=lambda run: (order.index(run.row), run.client, run.number))
    command = f"python -m trials.moving --repeats {options.repeats} --parallel {options.parallel}"
    if options.workers:
        command += f" --workers {options.workers}" + (f" --client {options.client}" if options.client else "")
    for axis in axes:
        own = [run for run in runs if ALL[run.row].axis == axis]
        save(
            page.record(axis, options.workers > 0),
            {"command": f"{command} --axis {axis}", "runs": msgspec.to_builtins(own)},
            began,
        )
    print(page.write())
    shutil.rmtree(folder)
    return 0


def _reported(row: Row, client: Client, number: int, workers: int, folder: Path) -> MovingRun:
    """Carry out one run and print its line."""
    run = explored(row, client, number, workers, folder / f"{row.name}-{client}-{number}")
    print(f"{run.row} ({run.client}): {'; '.join(run.wrong) or 'right'}; once: {run.once}; {run.verdict}", flush=True)
    return run


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m trials.moving", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only these; nothing is written then")
    parser.add_argument("--axis", choices=AXES, help="only rows whose plans have user counts, or offered rates")
    parser.add_argument("--client", choices=CLIENTS)
    parser.add_argument("--workers", type=int, default=0, help="worker processes; these runs have results of their own")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=3)
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ALL]:
        parser.error(f"no such row: {', '.join(unknown)}; rows: {', '.join(ALL)}")
    if importlib.util.find_spec("uvicorn") is None:
        parser.error("uvicorn is not installed: `make moving` installs trials/services/requirements.lock first")
    return options


if __name__ == "__main__":
    sys.exit(main())
