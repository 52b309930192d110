"""`make bench`: all benchmarks, or `python -m lab.bench NAME...`.

`python -m lab.bench leaks --services 20` passes options to a benchmark: the parameters of its function. `python -m lab.bench
--save before.json look paint` saves what two benchmarks print, with the commit and the load of the machine; `python -m lab.bench
compare before.json after.json` shows the figures of two such files side by side.
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

MODULES = {
    "app": "p99 metrics saturation paint keys screen shelf keep_alive",
    "costs": "probe_cost look kept_requests traces stacks streams",
    "day": "day",
    "rates": "rate rate_queues rate_p99",
    "clients": "clients",
    "workers": "worker_scaling many_workers",
    "leaks": "leaks",
}
"""Modules with the names of their benchmarks, which are functions."""

ALL = {name: module for module, names in MODULES.items() for name in names.split()}


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
        benchmark = getattr(importlib.import_module(f"lab.bench.{ALL[name]}"), name)
        print(f"\n== {name}: {(inspect.getdoc(benchmark) or '').partition('.')[0]}", flush=True)
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
