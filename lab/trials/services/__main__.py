"""`make services`: the autopilot on ten services of known capacity; results and docs/services.md.

    python -m lab.trials.services [SERVICE...] [--repeats N] [--parallel N]

The services sleep rather than compute, so several can run at once. A service that is not installed is left out, with one line.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from lab.trials.record import Conditions, save

from . import page
from .exploration import ServiceRun, explored
from .known import SERVICES, KnownService, why_not


def main() -> int:
    options = _options()
    chosen = [each for each in SERVICES if each.name in (options.services or [known.name for known in SERVICES])]
    for each in chosen:
        if reason := why_not(each.name):
            print(f"left out: {each.name}: {reason}", file=sys.stderr)
    wanted = [(each, number) for number in range(1, options.repeats + 1) for each in chosen if not why_not(each.name)]
    folder, began = Path(tempfile.mkdtemp(prefix="services-")), Conditions.now()
    with ThreadPoolExecutor(options.parallel) as pool:
        rows = list(pool.map(lambda one: _reported(one[0], one[1], folder), wanted))
    rows.sort(key=lambda row: ([each.name for each in SERVICES].index(row.service), row.number))
    if options.services:
        return 0
    command = f"python -m lab.trials.services --repeats {options.repeats} --parallel {options.parallel}"
    save("services", {"command": command, "runs": msgspec.to_builtins(rows)}, began)
    print(page.write())
    shutil.rmtree(folder)
    return 0


def _reported(service: KnownService, number: int, folder: Path) -> ServiceRun:
    """Carry out one run and print its line."""
    row = explored(service, number, folder / f"{service.name}-{number}")
    print(f"{row.service} {row.number}: {row.users} of {row.true_users:.3g}, {row.verdict}", flush=True)
    return row


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.services", description=__doc__.splitlines()[0])
    parser.add_argument("services", nargs="*", metavar="SERVICE", help="only these; nothing is written then")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
