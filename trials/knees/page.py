"""docs/benchmark-knees.md and its picture, from the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from trials.record import RESULTS

from . import picture, results
from .exploration import OURS, Exploration
from .policies import POLICIES
from .totals import Totals, false_by_service, totals

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "benchmark-knees.md"
PICTURE = DOCS / "pictures" / "benchmark-knees.svg"

HEAD = """\
# A benchmark of knee finders

Written by `make knees` from `trials/results/knees-*.csv`; not by hand. capexplorer's autopilot explores services of known
capacity, and so do the policies that other tools use. `trials/knees/policies.py` has each policy in its smallest form, on a
closed loop of users; these are not the tools themselves. Where a policy needs a threshold of response time, it gets twice the
p95 that a single user sees, which favours it.

- **error**: median of |answer / N* - 1|, where N* = capacity x (service time + think time) is exact.
- **in 15%**: share of the services whose knee was found and lies within 15% of N*; a knee that was not found counts as missed.
- **intervals**: of the answers with an interval, the share whose interval contains N*.
- **seconds**, **most users**, **overload**: medians of how long the exploration took, the greatest number of users (in N*), and
  how long there were more than 1.25 N*.
- **false knees**: a knee of a service that has none, or one that is more than 25% from every N* that the service had.

![in 15% and false knees of every finder](pictures/benchmark-knees.svg)
"""

SIMULATED = """\
## Simulated services

Services that do not change: queues of 1 to 8 servers; services that slow down under load, shed it, time out, run out of ports, or
whose generator is full; services without a limit. Services that change: capacity halves or doubles, a neighbour takes 60% of the
speed for 20 to 60 s, every reply fails for 20 to 60 s; the change comes 20 to 120 s after the start. The autopilot runs with the
rest of the product (`trials/simulation/virtual_run.py`); only load and readings are simulated. In results of commit 51ad85e and
earlier a neighbour did not change the simulated readings of the machine (`trials/simulation/machine.py`), by which real ones are
recognised ([faults.md](faults.md)), and a collapse in one step got no knee; [measurements.md](measurements.md) has later figures.
"""

MOVING = """\
### False knees on moving services, by kind
"""

LIVE = """\
## Real services, in real time

Workers that sleep (`targets/sleepers`), explored over loopback. `stalls`: the service is stopped (SIGSTOP) for 20 s, 40 s after
the start. The autopilot is `capexplorer run --autopilot`; the policies have an asyncio client.
"""

DATA = """\
## The data

- `trials/results/knees-*.csv`: a row for each exploration.
- `trials/results/knees-corpus.jsonl`: ladders of the simulated services with their truth, second by second, for other knee
  finders (`trials/knees/corpus.py` describes the fields).
"""

COLUMNS = ("finder", "error", "in 15%", "intervals", "seconds", "most users", "overload", "false, still", "false, moving")


def write() -> Path:
    """Write page and picture from the results."""
    parts = [HEAD]
    simulated, live = results.read("knees-simulated"), results.read("knees-live")
    if simulated:
        parts += [SIMULATED, _made("knees-simulated"), _table(_all(simulated)), MOVING, _by_kind(simulated)]
        PICTURE.write_text(picture.draw(_all(simulated)), encoding="utf-8")
    if live:
        parts += [LIVE, _made("knees-live"), _table(_all(live))]
    PAGE.write_text("\n".join([*parts, DATA]), encoding="utf-8")
    return PAGE


def _all(rows: Sequence[Exploration]) -> list[Totals]:
    return [totals(name, [row for row in rows if row.finder == name]) for name in (OURS, *POLICIES)]


def _made(name: str) -> str:
    made = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    load = " to ".join(f"{each:g}" for each in made["load_average_1m"])
    return (
        f"`{made['command']}`, commit {made['commit']}, {made['started_at']}, {made['took_s']} s on {made['cpus']} cores,"
        f" load average {load}, steal {made['steal_s']} s.\n"
    )


def _table(all_totals: Sequence[Totals]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * (len(COLUMNS) - 1), *map(_row, all_totals)]
    return "\n".join(lines) + "\n"


def _row(found: Totals) -> str:
    cells = (
        found.finder,
        _percent(found.error_median),
        _percent(found.near_ratio),
        f"{_percent(found.covered_ratio)} of {found.intervals}" if found.intervals else "none given",
        _number(found.seconds_median),
        _number(found.most_median),
        f"{_number(found.overload_median_s)} s",
        _count(found.false_still),
        _count(found.false_moving),
    )
    return f"| {' | '.join(cells)} |"


def _by_kind(rows: Sequence[Exploration]) -> str:
    found = {name: false_by_service([row for row in rows if row.finder == name]) for name in (OURS, *POLICIES)}
    kinds = list(found[OURS])
    lines = [f"| finder | {' | '.join(kinds)} |", "| --- |" + " ---: |" * len(kinds)]
    lines += [f"| {name} | {' | '.join(_count(counts[kind]) for kind in kinds)} |" for name, counts in found.items()]
    return "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _count(counted: tuple[int, int]) -> str:
    false, of = counted
    return f"{false} of {of}" if of else "–"
