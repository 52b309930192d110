"""`make bench`: all benchmarks, or `python -m lab.bench NAME...`.

`python -m lab.bench moving --still 0` passes options to a benchmark. `python -m lab.bench --save before.json look paint`
saves what two benchmarks print, with the commit and the load of the machine; `python -m lab.bench compare before.json
after.json` shows the figures of two such files side by side.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lab.trials.record import Conditions

from . import kept
from .comparison import compared_lines

ALL = {
    "p99": "(a) p99 of the app with its screen, divided by plain headless Locust's",
    "saturation": "(b) requests per second at saturation, divided by headless Locust's",
    "paint": "(c) first paint",
    "keys": "(d) from a key to the changed number of wanted users",
    "screen": "(e) terminal output and the screen's thread",
    "probe_cost": "(f) probes",
    "day": "a day's session: disk, opening, seeking, memory",
    "shelf": "the picker with 5,000 sessions",
    "views": "(g) latency as reported by the app, by the target itself and by wrk",
    "rate": "time from plan at an offered rate, on a server with stalls, compared with the calculated one",
    "rate_queues": "waiting times and capacities at offered rates, on real M/M/1, M/D/1 and M/M/4 queues, compared with theory",
    "rate_p99": "p99 of the time from plan at 500/s with the live screen, divided by headless, one worker",
    "look": "CPU cost of one analysis of 24 levels during a run",
    "clients": "load generators side by side: requests per CPU second, latency at an equal rate",
    "worker_scaling": "requests per second with 0, 1, 2 and 4 worker processes, by client",
    "many_workers": "200 simulated workers of a real run: its CPU, late ticks, bytes of the log",
    "keep_alive": "connects at 1,500 and 4,000 users who keep their connections, by client",
    "client_hook_cost": "the cost of the product's hooks in the HTTP clients, per request",
    "kept_requests": "the cost of keeping whole requests, per request",
    "autopilot": "(autopilot) the autopilot compared with simple policies on simulated systems",
    "knees": "(knees) the detector compared with kneed and a broken stick on simulated ladders",
    "ramps": "(ramps) knees of imported ramps of simulated services",
    "moving": "(moving) false knees on simulated services that change",
    "neighbours": "(neighbours) knees on simulated services while other processes come and go",
    "rate_capacity": "(rate_capacity) capacities as offered rates on simulated services, and waiting times compared with theory",
    "rate_worlds": "(rate_worlds) capacities as offered rates of simulated services that change, ramps, and stationary queues",
    "leaks": "(leaks) wrong marks on simulated healthy services, and how soon leaks are reported",
}


def main() -> None:
    if sys.argv[1:2] == ["compare"]:
        compare(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m lab.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(ALL)}; none: all")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save what the benchmarks print")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of the benchmark, if one is named")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in ALL]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; expected some of {', '.join(ALL)}")
    if arguments.options and len(arguments.names) != 1:
        parser.error(f"{arguments.options[0]} is an option of one benchmark: give the name of one only")
    run(arguments.names or list(ALL), arguments.options, arguments.save)


def run(names: Sequence[str], options: Sequence[str], file: Path | None) -> None:
    found = kept.Kept(began=Conditions.now())
    for name in names:
        print(f"\n== {ALL[name]}   (python -m lab.bench {name})", flush=True)
        benchmark = importlib.import_module(f"lab.bench.{name}").main
        with_options = functools.partial(benchmark, options) if options else benchmark
        found.printed[name] = kept.printed(with_options)
        if file is not None:
            kept.save(found, file)


def compare(files: list[str]) -> None:
    try:
        old, new = (kept.read(Path(file)) for file in files)
    except (OSError, ValueError, msgspec.DecodeError) as error:
        sys.exit(f"python -m lab.bench compare: expected two files of --save, OLD and NEW: {error}")
    print("\n".join(compared_lines(old, new)))


if __name__ == "__main__":
    main()
