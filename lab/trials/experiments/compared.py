"""The comparison of two runs by `capexplorer compare`: its main rows, kept as one line of `results/compared.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Session, compare, sentences

FIGURES = ("goodput", "mean", "p95")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure at one user count; `a`, `b`, `change` and `judgement` as the comparison words them."""

    users: int
    figure: str
    a: str
    b: str
    change: str
    judgement: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of two runs, `a` (the baseline) and `b`."""

    report: str
    a: str
    b: str
    at: str
    verdict: str
    warnings: list[str]
    knees: tuple[str, str]
    rows: list[Row]


def compared(report: str, timelines: Mapping[str, Timeline]) -> Compared:
    """The first of the two is the baseline."""
    found = compare([Session(timeline, title=name) for name, timeline in timelines.items()])
    (pair,) = found.pairs
    a, b = timelines
    return Compared(
        report=report,
        a=a,
        b=b,
        at=datetime.now().astimezone().isoformat(timespec="seconds"),
        verdict=sentences.verdict(found),
        warnings=sentences.warnings(found),
        knees=(sentences.knee(pair.before), sentences.knee(pair.after)),
        rows=[
            Row(
                users=level.users,
                figure=name,
                a=sentences.before(level[name]),
                b=sentences.after(level[name]),
                change=sentences.ratio(level[name]),
                judgement=sentences.judgement(level[name]),
            )
            for level in pair.levels
            for name in FIGURES
        ],
    )
