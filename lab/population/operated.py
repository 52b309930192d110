"""Whether the recommended operating load holds: after its session each simulated service runs ten minutes at that load, and its
goodput and p95 are compared with those that were promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from multiprocessing import Pool
from statistics import median

import msgspec
import numpy as np

from capexplorer.analysis.recommended import recommended
from capexplorer.model.load import Users
from capexplorer.model.recommended import Estimate
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import Run

from .score import FAMILIES, Wanted

SETTLES_S = 120.0
"""Before the soak; at rates after all of the session's backlog is worked off."""
SOAK_S = 600.0

NEAR = 1.05
"""A figure is nearly held if it is within this factor of its bound."""


class Operated(msgspec.Struct, frozen=True, kw_only=True):
    """One recommended load, the promise and what the soak showed."""

    family: str
    seed: int
    load: float
    knee: float | None
    """The nearest true knee or capacity."""
    measured: bool
    goodput_per_s: Estimate | None
    p95_ms: Estimate | None
    soak_per_s: float
    soak_p95_ms: float

    @property
    def goodput_ratio(self) -> float | None:
        """Goodput of the soak over the lower bound; at least 1: it holds."""
        promised = self.goodput_per_s
        return None if promised is None or not promised.low else self.soak_per_s / promised.low

    @property
    def p95_ratio(self) -> float | None:
        """p95 of the soak over the upper bound; at most 1: it holds."""
        return None if self.p95_ms is None or not self.p95_ms.high else self.soak_p95_ms / self.p95_ms.high


def operated(case: tuple[str, int]) -> Operated | None:
    """None: the session recommends no load, or the family's service cannot run on."""
    name, seed = case
    session = FAMILIES[name].session(seed)
    verdicts = session.timeline.verdicts
    found = recommended(session.timeline, max(verdicts)) if verdicts else ()
    running = session.running
    of_kind = [each for each in found if isinstance(each.operating.load, Users) is isinstance(running, Run)]
    if running is None or not of_kind:
        return None
    operating = of_kind[0].operating
    soak = _users if isinstance(running, Run) else _rate
    per_s, p95_ms = soak(running, operating.load.amount)  # type: ignore[arg-type]
    knees = [end for knee in session.truth.knees for end in (knee.low, knee.high)]
    return Operated(
        family=name,
        seed=seed,
        load=operating.load.amount,
        knee=min(knees, key=lambda end: abs(end - operating.load.amount), default=None),
        measured=operating.measured,
        goodput_per_s=operating.goodput_per_s,
        p95_ms=operating.p95_ms,
        soak_per_s=per_s,
        soak_p95_ms=p95_ms,
    )


def _users(running: Run, users: float) -> tuple[float, float]:
    """(goodput per second, p95 in ms) of the soak."""
    running.to(int(users))
    running.until(running.now_s + SETTLES_S)
    running.take_ended()
    running.until(running.now_s + SOAK_S)
    return _figures(each.response_s for each in running.take_ended() if each.ok)


def _rate(running: OpenRun, per_s: float) -> tuple[float, float]:
    running.offer(0.0)
    while running.in_flight:
        running.until(running.now_s + 1.0)
    running.offer(per_s)
    running.until(running.now_s + SETTLES_S)
    return _figures(each.ended_s - each.due_s for each in running.until(running.now_s + SOAK_S) if each.ok)


def _figures(took_s: Iterable[float]) -> tuple[float, float]:
    values = np.fromiter(took_s, float)
    return len(values) / SOAK_S, 1000 * float(np.quantile(values, 0.95)) if len(values) else 0.0


def all_operated(wanted: Wanted, processes: int) -> list[Operated]:
    with Pool(processes) as pool:
        return [each for each in pool.imap(operated, wanted.cases, chunksize=4) if each is not None]


def report(found: Sequence[Operated], sessions: int) -> str:
    """How often goodput and p95 were as promised, and nearly (NEAR); how wide the p95 was promised; by family and in all."""
    titles = ("", "loads", "goodput", "near", "p95", "near", "both near", "width of p95")
    rows = [
        titles,
        *(_row(name, [each for each in found if each.family == name]) for name in sorted({each.family for each in found})),
    ]
    rows += [_row("measured", [each for each in found if each.measured])]
    rows += [_row("between", [each for each in found if not each.measured]), _row("all", found)]
    lines = [f"{name:28}{''.join(f'{cell:>14}' for cell in cells)}" for name, *cells in rows]
    return "\n".join([f"{len(found)} loads recommended by {sessions} sessions", *lines])


def _row(name: str, found: Sequence[Operated]) -> tuple[str, ...]:
    goodput = [each.goodput_ratio for each in found if each.goodput_ratio is not None]
    p95 = [each.p95_ratio for each in found if each.p95_ratio is not None]
    both = [
        each.goodput_ratio * NEAR >= 1 and each.p95_ratio <= NEAR
        for each in found
        if each.goodput_ratio is not None and each.p95_ratio is not None
    ]
    widths = [each.p95_ms.high / each.p95_ms.low for each in found if each.p95_ms and each.p95_ms.high and each.p95_ms.low]
    return (
        name,
        str(len(found)),
        _share([each >= 1 for each in goodput]),
        _share([each * NEAR >= 1 for each in goodput]),
        _share([each <= 1 for each in p95]),
        _share([each <= NEAR for each in p95]),
        _share(both),
        f"{median(widths):.2f}" if widths else "-",
    )


def _share(holds: Sequence[bool]) -> str:
    return f"{sum(holds)} of {len(holds)}"
