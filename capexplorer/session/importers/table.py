"""Converts a table of levels (`users,throughput_rps[,latency_ms][,failure_ratio]`) to the events of a session.

A table has no times: each row becomes a level of one second. Goodput is throughput without failures. If the table has no column
of failures, throughput counts as goodput, as in published tables; if it has one and a cell is empty, that goodput is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import InputError
from ...model.events import Ended, Event, LevelClosed, LevelOpened
from ...model.figures import Latency, LevelFigures
from ...toml import nearest
from .csv_file import Column, CsvFile

NEEDED = ("users", "throughput_rps")
OPTIONAL = ("latency_ms", "failure_ratio")
_MOST_USERS = 10_000_000


def is_table(columns: Sequence[str]) -> bool:
    """Whether the columns are those of a table of levels."""
    return bool({*NEEDED, *OPTIONAL} & set(columns))


def table_events(file: CsvFile) -> Iterator[Event]:
    """The levels and the end of the session. Raises InputError before the first event."""
    _check(file)
    users = Column(file, "users", most=_MOST_USERS, whole=True)
    throughput_rps = Column(file, "throughput_rps")
    latency_ms = Column(file, "latency_ms") if "latency_ms" in file.columns else None
    failure_ratio = Column(file, "failure_ratio", most=1.0) if "failure_ratio" in file.columns else None
    levels = [
        (
            int(users.value(line, cells)),
            _figures(
                users.value(line, cells),
                throughput_rps.value(line, cells),
                latency_ms.value_or_none(line, cells) if latency_ms else None,
                failure_ratio.value_or_none(line, cells) if failure_ratio else None,
                has_failures=failure_ratio is not None,
            ),
        )
        for line, cells in file.rows
    ]
    return _events(levels)


def _check(file: CsvFile) -> None:
    for column in file.columns:
        if column not in NEEDED + OPTIONAL:
            raise file.error(1, f"unknown column `{column[:40]}`; {nearest(column, NEEDED + OPTIONAL)}")
        if file.columns.count(column) > 1:
            raise file.error(1, f"column `{column}` is there twice")
    for column in NEEDED:
        if column not in file.columns:
            raise file.error(1, f"a table of levels needs the columns `users` and `throughput_rps`; `{column}` is missing")
    if not file.rows:
        raise InputError(f"{file.path}: a table without rows: no levels")


def _figures(
    users: float, throughput_rps: float, latency_ms: float | None, failure_ratio: float | None, *, has_failures: bool
) -> LevelFigures:
    """The figures of a row. Its latency counts for successes and for all requests, since a table does not distinguish them."""
    lost = failure_ratio if has_failures else 0.0
    return LevelFigures(
        settled=True,
        counted=False,
        failure_ratio=failure_ratio,
        throughput_rps=throughput_rps,
        goodput_rps=None if lost is None else throughput_rps * (1 - lost),
        latency_ms=Latency(mean=latency_ms),
        response_ms=latency_ms,
        users_mean=users,
    )


def _events(levels: Sequence[tuple[int, LevelFigures]]) -> Iterator[Event]:
    for index, (users, figures) in enumerate(levels):
        t_s = float(index)
        yield LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=float(users), by="plan")
        yield LevelClosed(t_s=t_s + 1, index=index, users=users, started_s=t_s, settled_s=t_s, figures=figures)
    yield Ended(t_s=float(len(levels)), reason="imported", levels=len(levels))
