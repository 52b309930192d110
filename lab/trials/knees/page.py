"""docs/benchmark-knees.md and its picture, from the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from lab.trials.record import RESULTS

from . import picture, results
from .exploration import AUTOPILOT, Exploration
from .policies import POLICIES
from .totals import Totals, false_by_service, totals

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "benchmark-knees.md"
PICTURE = DOCS / "pictures" / "benchmark-knees.svg"

HEAD = """\
# A benchmark of knee finders

Written by `make knees` from `lab/trials/results/knees-*.csv`. capexplorer's autopilot and the policies of other tools
explore the same services of known capacity. These are not the tools themselves: `lab/trials/knees/policies.py` has each policy in
its simplest form, for a closed loop of users. A policy that needs a threshold of response time gets twice the p95 of
a single user, which favours it.

- **error**: median of |answer / N* - 1|, where N* = capacity x (service time + think time) is exact.
- **in 15%**: share of the services whose knee was found within 15% of N*; a knee that was not found counts as missed.
- **intervals**: share of the intervals given that contain N*.
- **seconds**, **most users**, **overload**: medians of the duration, the greatest number of users as a multiple of N*, and
  the time with more than 1.25 N*.
- **false**: a knee of a service that has none, or one that is more than 25% from every N* that the service had; *still*: services
  that do not change, *moving*: services that change.

![in 15% and false knees of every finder](pictures/benchmark-knees.svg)
"""

SIMULATED = """\
## Simulated services

Services that do not change: queues of 1 to 8 servers; services that slow down under load, shed it, time out, or run out of
ports; services whose generator is saturated; services without a limit. Services that change, 20 to 120 s after the start:
capacity halves or doubles; another process (`neighbour`) takes 60% of the speed for 20 to 60 s; every reply fails for 20 to
60 s (`fault`). The autopilot runs with the rest of the product (`lab/simulation/virtual_run.py`); only load and readings
are simulated.
"""

MOVING = """\
### False knees of services that change, by kind
"""

LIVE = """\
## Real services, in real time

Workers that sleep (`targets/sleepers`), explored over loopback. `stalls`: the service is stopped (SIGSTOP) for 20 s, 40 s after
the start. The autopilot is `capexplorer run --autopilot`; the policies have an asyncio client.
"""

DATA = """\
## The data

- `lab/trials/results/knees-*.csv`: a row for each exploration.
- `lab/trials/results/knees-corpus.jsonl`: ladders of these services, second by second, with their true knees, for other knee
  finders (`lab/trials/knees/corpus.py` describes the fields).
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
    return [totals(name, [row for row in rows if row.finder == name]) for name in (AUTOPILOT, *POLICIES)]


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
    found = {name: false_by_service([row for row in rows if row.finder == name]) for name in (AUTOPILOT, *POLICIES)}
    kinds = list(found[AUTOPILOT])
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
