"""`python -m lab.population`: scores of simulated services by family.

python -m lab.population families
python -m lab.population score --split validation --count 100 --save FILE [--family NAME ...] [--product PATH]
python -m lab.population report FILE
python -m lab.population compare OLD NEW
python -m lab.population operate --split validation --count 100 [--family NAME ...]
python -m lab.population sampled --split validation --count 300
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

FIRST_SEEDS = {"tuning": 0, "validation": 10_000, "unseen": 20_000}
SEEDS = 10_000
"""Number of seeds of a split."""


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lab.population", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("families", help="their names and what is true of them")
    score = commands.add_parser("score", help="simulate sessions, one JSON line each")
    score.add_argument("--save", type=Path, required=True, metavar="FILE")
    score.add_argument(
        "--product", type=Path, metavar="PATH", help="the checkout whose capexplorer is scored; this one's unless given"
    )
    score.add_argument("--logs", type=Path, metavar="DIR", help="keep the sessions' logs in this folder")
    score.add_argument("--rejudge", type=Path, metavar="DIR", help="judge the logs of this folder again, without simulation")
    operate = commands.add_parser("operate", help="soak each service at the load that its session recommends")
    of_stacks = commands.add_parser("sampled", help="is the function that limits a service the one that its stacks name?")
    for each in (score, operate, of_stacks):
        _cases(each)
    report = commands.add_parser("report", help="figures by family")
    report.add_argument("file", type=Path)
    keep = commands.add_parser("keep", help="copy a score to lab/results, of which `make pages` makes docs/population.md")
    keep.add_argument("file", type=Path)
    compare = commands.add_parser("compare", help="two scores of the same seeds")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    options = parser.parse_args(argv)
    if options.command in ("score", "operate", "sampled"):
        if options.split == "unseen" and not options.unseen:
            parser.error("the unseen seeds are looked at once, at the end: --unseen")
        if not 0 < options.count <= SEEDS - options.first:
            parser.error(f"a split has {SEEDS:,} seeds")
    return options


def _cases(command: argparse.ArgumentParser) -> None:
    """The options that choose families and seeds."""
    command.add_argument(
        "--split",
        choices=FIRST_SEEDS,
        default="tuning",
        help="tuning: seeds 0-9,999; validation: from 10,000; unseen: from 20,000",
    )
    command.add_argument("--first", type=int, default=0, help="of the split's seeds, the first one that is used")
    command.add_argument("--count", type=int, default=20, help="sessions of each family")
    command.add_argument("--family", nargs="+", default=[], help="names, or their beginnings; none: all")
    command.add_argument("--processes", type=int, default=1)
    command.add_argument("--unseen", action="store_true", help="use seeds that nobody may look at before the end")


def _seeds(options: argparse.Namespace) -> range:
    os.nice(10)
    first = FIRST_SEEDS[options.split] + options.first
    return range(first, first + options.count)


def main(argv: Sequence[str]) -> int:
    options = parsed(argv)
    if options.command == "score" and options.product is not None:
        sys.path.insert(0, str(options.product.resolve()))  # before the product is imported
    from . import figures, operated, sampled, score

    match options.command:
        case "families":
            print(score.listed())
        case "score":
            wanted = score.Wanted(options.family, _seeds(options), options.logs, options.rejudge)
            score.save(options.save, wanted, options.processes)
            print(figures.report(score.read(options.save)))
        case "operate":
            wanted = score.Wanted(options.family, _seeds(options))
            print(operated.report(operated.all_operated(wanted, options.processes), len(list(wanted.cases))))
        case "sampled":
            print(sampled.report(_seeds(options)))
        case "report":
            print(figures.report(score.read(options.file)))
        case "keep":
            print(score.keep(options.file))
        case "compare":
            print(figures.compare(score.read(options.old), score.read(options.new)))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
