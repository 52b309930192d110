"""`make bench`: all benchmarks, or `python -m lab.bench NAME...`.

`python -m lab.bench moving --still 0` passes options to a benchmark: the parameters of its function. `python -m lab.bench --save
before.json look paint` saves what two benchmarks print, with the commit and the load of the machine; `python -m lab.bench compare
before.json after.json` shows the figures of two such files side by side.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_type_hints

import msgspec

from lab.kit.record import Conditions

from . import comparison

TITLES = {
    "app": {
        "p99": "(a) p99 of the app with its screen, divided by plain headless Locust's",
        "saturation": "(b) requests per second at saturation, divided by headless Locust's",
        "paint": "(c) first paint",
        "keys": "(d) from a key to the changed number of wanted users",
        "screen": "(e) terminal output and the screen's thread",
        "views": "(g) latency as reported by the app, by the target itself and by wrk",
        "shelf": "the picker with 5,000 sessions",
        "keep_alive": "connects at 1,500 and 4,000 users who keep their connections, by client",
    },
    "costs": {
        "probe_cost": "(f) probes",
        "look": "CPU cost of one analysis of 24 levels during a run",
        "client_hook_cost": "the cost of the product's hooks in the HTTP clients, per request",
        "kept_requests": "the cost of keeping whole requests, per request",
    },
    "day": {"day": "a day's session: disk, opening, seeking, memory"},
    "rates": {
        "rate": "time from plan at an offered rate, on a server with stalls, compared with the calculated one",
        "rate_queues": "waiting times and capacities at offered rates, on real queues, compared with theory",
        "rate_p99": "p99 of the time from plan at 500/s with the live screen, divided by headless, one worker",
    },
    "clients": {"clients": "load generators side by side: requests per CPU second, latency at an equal rate"},
    "workers": {
        "worker_scaling": "requests per second with 0, 1, 2 and 4 worker processes, by client",
        "many_workers": "200 simulated workers of a real run: its CPU, late ticks, bytes of the log",
    },
    "knees": {
        "autopilot": "(autopilot) the autopilot compared with simple policies on simulated systems",
        "knees": "(knees) the detector compared with kneed and a broken stick on simulated ladders",
        "ramps": "(ramps) knees of imported ramps of simulated services",
        "moving": "(moving) false knees on simulated services that change",
        "neighbours": "(neighbours) knees on simulated services while other processes come and go",
        "leaks": "(leaks) wrong marks on simulated healthy services, and how soon leaks are reported",
    },
    "simulated_rates": {
        "rate_capacity": "(rate_capacity) capacities as offered rates on simulated services, and waiting times",
        "rate_worlds": "(rate_worlds) capacities as offered rates of simulated services that change, and ramps",
    },
}
"""Titles of the benchmarks by module; the function has the name of the benchmark."""

ALL = {name: (module, title) for module, titles in TITLES.items() for name, title in titles.items()}


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
    found = comparison.Kept(began=Conditions.now())
    for name in names:
        module, title = ALL[name]
        print(f"\n== {title}   (python -m lab.bench {name})", flush=True)
        benchmark = getattr(importlib.import_module(f"lab.bench.{module}"), name)
        found.printed[name] = comparison.printed(with_options(benchmark, options))
        if file is not None:
            comparison.save(found, file)


def with_options(benchmark: Callable[..., None], options: Sequence[str]) -> Callable[[], None]:
    """The benchmark with the options of the command line, `--first-seed 7` for its parameter `first_seed`."""
    parser = argparse.ArgumentParser(prog=f"python -m lab.bench {benchmark.__name__}", description=benchmark.__doc__)
    kinds = get_type_hints(benchmark)
    for name, parameter in inspect.signature(benchmark).parameters.items():
        flag, default = f"--{name.replace('_', '-')}", parameter.default
        if kinds[name] is bool:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, tuple):
            parser.add_argument(flag, nargs="+", type=type(default[0]), default=default)
        else:
            parser.add_argument(flag, type=Path if default is None else type(default), default=default, help=f"default {default}")
    return functools.partial(benchmark, **vars(parser.parse_args(list(options))))


def compare(files: list[str]) -> None:
    try:
        old, new = (comparison.read(Path(file)) for file in files)
    except (OSError, ValueError, msgspec.DecodeError) as error:
        sys.exit(f"python -m lab.bench compare: expected two files of --save, OLD and NEW: {error}")
    print("\n".join(comparison.compared_lines(old, new)))


if __name__ == "__main__":
    main()
