"""Imports files of other tools as the events of a session: Locust's histories, and tables of levels.

Values that a file does not contain are None. The same files give the same events, and the same session id.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from ... import __version__
from ...errors import InputError
from ...model.events import SCHEMA, Ended, Engine, Event, Header, HostFacts, LevelClosed, LevelOpened, TargetFacts
from ...model.figures import LevelFigures
from ...model.intervals import Latency
from ...toml import nearest
from ..files import slug
from .history_session import LADDER_LEAST, History, LevelWriter, Settling, constant_counts
from .locust_history import Column, CsvFile, is_history, read_csv, read_history

_HISTORY_LACKS = "it has no percentiles of levels, no think times, no resources, and does not separate warm-up"
_TABLE_LACKS = "it has no times, counts, percentiles or resources; each row counts as one second"
_SUFFIX = re.compile(r"_stats_history$")
_OTHERS = {
    ("type", "name", "request count"): "Locust's totals of a whole run",
    ("method", "name", "error"): "Locust's failures",
    ("count", "message", "traceback"): "Locust's exceptions",
}
"""Other files that Locust's `--csv` writes, by their first columns."""
_IMPORTABLE = "Locust's *_stats_history.csv, or a table with `users,throughput_rps`"
_NO_JSON = f"the summary of a whole run, such as k6's, has no levels; expected {_IMPORTABLE}"
_SAMPLES: Mapping[tuple[str, ...], str] = {
    ("metric_name", "timestamp", "metric_value"): "k6's",
    ("timestamp", "elapsed", "label"): "JMeter's",
}
"""Whose single samples (`k6 run --out csv`, a JTL) begin with these columns."""


def imported(paths: Sequence[Path], label: str | None, settling: Settling) -> list[Event]:
    """All events of the session that is made from these files: the header first, `ended` last.

    `paths`: one table, or histories, which follow each other in the order of their start. Raises InputError, with file, line and
    what was expected.
    """
    files = [read_csv(path, _NO_JSON) for path in paths]
    for file in files:
        _check_is_known(file)
    _check_is_unique(files)
    if any(is_history(file.columns) for file in files):
        return list(_from_histories(files, label, settling))
    if len(files) > 1:
        raise InputError(f"{files[1].path}: a second table; a session is made from one table, or from several Locust histories")
    return list(_from_table(files[0], label))


def _from_table(file: CsvFile, label: str | None) -> Iterator[Event]:
    events = table_events(file)
    name = file.path.stem
    source = f"imported from a table of levels ({file.path.name}); {_TABLE_LACKS}"
    yield _header(name, f"table-{slug(name)}-{file.digest[:8]}", "", label, source)
    yield from events


def _from_histories(files: Sequence[CsvFile], label: str | None, settling: Settling) -> Iterator[Event]:
    found = sorted(
        (History(file.path.name, read_history(file), file.notes) for file in files), key=lambda each: each.observations[0].at_s
    )
    name = _common_name([_SUFFIX.sub("", Path(each.name).stem) for each in found])
    digest = hashlib.sha256("".join(sorted(file.digest for file in files)).encode()).hexdigest()
    began = found[0].began
    source = f"imported from Locust's history ({', '.join(each.name for each in found)}); {_HISTORY_LACKS}"
    session_id = f"{began:%Y%m%d-%H%M%S}-{slug(name)}-{digest[:8]}"
    yield _header(name, session_id, began.isoformat(), label, source, interval_s=_interval_s(found))
    ladder = len({count for each in found for count in constant_counts(each.times_s, each.users)}) >= LADDER_LEAST
    index, t_s, requests, failures = 0, 0.0, 0, 0
    for each in found:
        levels = LevelWriter(each, t_s, index, settling)
        yield from levels.events(ladder)
        index, t_s = levels.index, levels.ended_s
        requests, failures = requests + levels.requests, failures + levels.failures
    yield Ended(t_s=t_s, reason="imported", requests=requests, failures=failures, levels=index)


def _header(name: str, session_id: str, started_at: str, label: str | None, source: str, interval_s: float = 1.0) -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id=session_id,
        started_at=started_at,
        label=label,
        source=source,
        versions={"capexplorer": __version__},
        target=TargetFacts(name=name, url=""),
        host=HostFacts(),
        engine=Engine(mode=None, workers=None),
        interval_s=interval_s,
    )


def _interval_s(histories: Sequence[History]) -> float:
    times = [each.times_s for each in histories]
    return float(median(after - before for each in times for before, after in zip(each, each[1:], strict=False)))


def _common_name(stems: Sequence[str]) -> str:
    """The common beginning of names, such as `soy-a` of `soy-a-1-users` and `soy-a-8-users`; the first name if there is none."""
    common = os.path.commonprefix(list(stems)) if len(stems) > 1 else stems[0]
    return common.rstrip("-_. ") or stems[0] or "history"


def _check_is_known(file: CsvFile) -> None:
    columns = [column.lower() for column in file.columns]
    _check_counts_users(file, columns)
    if is_history(columns) or is_table(file.columns):
        return
    other = next((what for first, what in _OTHERS.items() if tuple(columns[: len(first)]) == first), None)
    if other is not None:
        raise file.error(1, f"{other}, without times; import the *_stats_history.csv beside it")
    hint = "; commas between values were expected" if len(columns) == 1 and re.search(r"[;\t]", columns[0]) else ""
    got = repr(",".join(file.columns)[:60])
    raise file.error(1, f"expected {_IMPORTABLE}, got {got}{hint}")


def _check_counts_users(file: CsvFile, columns: Sequence[str]) -> None:
    """Refuse a file of single samples, and a table by offered rates: neither says how many users caused a throughput."""
    if (whose := _SAMPLES.get(tuple(columns[:3]))) is not None:
        raise file.error(1, f"{whose} single samples, without levels of users; a table `users,throughput_rps` was expected")
    if "offered_per_s" in columns:
        raise file.error(1, "a table by offered rate (`offered_per_s`); only levels of users can be imported, see docs/rates.md")


def _check_is_unique(files: Sequence[CsvFile]) -> None:
    seen: dict[str, Path] = {}
    for file in files:
        if file.digest in seen:
            raise InputError(f"{file.path}: the same content as {seen[file.digest]}")
        seen[file.digest] = file.path


# -- table ---------------------------------------------------------------------------------------------------------------------
# Converts a table of levels (`users,throughput_rps[,latency_ms][,failure_ratio]`) to the events of a session.
#
# A table has no times: each row becomes a level of one second. Goodput is throughput without failures. If the table has no column
# of failures, throughput counts as goodput, as in published tables; if it has one and a cell is empty, that goodput is not known.


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
