"""Reads Locust's `*_stats_history.csv` as observations of its counters, from all versions that wrote the user count.

Only cumulative columns are used. `Requests/s` and the percentiles are ignored: they are rounded figures of windows of ten
seconds. Column names changed in Locust 1.0 (April 2020). Only files of `--csv-full-history` have rows for each endpoint.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import InputError

# -- csv file ------------------------------------------------------------------------------------------------------------------
# Reads a CSV file as rows with line numbers, and checks the numbers in its cells.
#
# A file that cannot be read gives an error of one line: file, line, what was expected. Must not know what the columns mean.


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_MOST = 1e15
"""Greatest number: above it a float cannot represent all whole numbers."""
_MOST_BYTES = 256 * 1024 * 1024
"""Greatest size of a file."""
_NOTHING = ("", "n/a", "nan", "none", "null", "-")
"""Cells without a value."""
_LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The header and the rows of a file, as text."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """(line number, cells) of each row, with as many cells as columns."""
    digest: str
    """SHA-256 of the bytes, in hex."""
    notes: tuple[str, ...] = ()
    """Lines that were left out, one note each."""

    def error(self, line: int, message: str) -> InputError:
        """An error with file and line."""
        return InputError(f"{self.path}: line {line}: {message}")


@dataclass(frozen=True, slots=True)
class Column:
    """The numbers of one column, from `least` to `most`. Other cells raise InputError."""

    file: CsvFile
    name: str
    least: float = 0.0
    most: float = _MOST
    whole: bool = False
    _index: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", self.file.columns.index(self.name))

    def value(self, line: int, cells: tuple[str, ...]) -> float:
        """The number in this row."""
        found = self.value_or_none(line, cells)
        if found is None:
            raise self._error(line, cells[self._index])
        return found

    def value_or_none(self, line: int, cells: tuple[str, ...]) -> float | None:
        """The number in this row; None if the cell has no value."""
        text = cells[self._index].strip()
        if text.lower() in _NOTHING:
            return None
        if not _NUMBER.fullmatch(text):
            raise self._error(line, text)
        number = float(text)
        if not self.least <= number <= self.most or (self.whole and number != int(number)):
            raise self._error(line, text)
        return number

    def _error(self, line: int, text: str) -> InputError:
        kind = "a whole number" if self.whole else "a number"
        bounds = f" of at least {self.least:g}" if self.most >= _MOST else f" from {self.least:.15g} to {self.most:.15g}"
        comma = "; decimals have a point here, not a comma" if re.fullmatch(r"[+-]?\d+,\d+", text) else ""
        return self.file.error(line, f"`{self.name}`: expected {kind}{bounds}, got {text[:_LONGEST_SHOWN]!r}{comma}")


def read_csv(path: Path, instead_of_json: str) -> CsvFile:
    """Read the whole file. A last line that is cut off is left out, with a note. Raises InputError.

    `instead_of_json`: says what was expected in place of a file of JSON.
    """
    content = _bytes(path)
    text = _text(path, content)
    if text.lstrip().startswith(("{", "[")):
        raise InputError(f"{path}: JSON, not CSV: {instead_of_json}")
    rows = _rows(path, text)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path}: empty: a CSV header was expected")
    columns = tuple(cell.strip() for cell in first[1])
    whole, notes = [], []
    for line, cells in rows:
        if len(cells) == len(columns):
            whole.append((line, tuple(cells)))
        elif len(cells) < len(columns) and not content.endswith(b"\n") and next(rows, None) is None:
            notes.append(f"line {line}: cut off, left out")
        else:
            raise InputError(f"{path}: line {line}: expected {len(columns)} values, as the header has, got {len(cells)}")
    return CsvFile(path, columns, tuple(whole), hashlib.sha256(content).hexdigest(), tuple(notes))


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a CSV file")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a regular file")
        if path.exists() and path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: of {path.stat().st_size >> 20} MB; at most {_MOST_BYTES >> 20} MB were expected")
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _text(path: Path, content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: encoded as UTF-16; UTF-8 was expected")
    if b"\0" in content:
        raise InputError(f"{path}: a binary file, not CSV")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line}: not UTF-8") from None


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of each row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end of data" in str(error) and not text.endswith("\n"):
                cells = []  # cut off inside quotes
            else:
                raise InputError(f"{path}: line {reader.line_num}: not CSV: {error}") from None
        else:
            if not any(cell.strip() for cell in cells):
                continue
        yield reader.line_num, cells


_NAMES = {
    "timestamp": ("timestamp",),
    "users": ("user count",),
    "method": ("type",),
    "name": ("name",),
    "requests": ("total request count", "# requests", "request count"),
    "failures": ("total failure count", "# failures", "failure count"),
    "mean_ms": ("total average response time", "average response time"),
    "mean_bytes": ("total average content size", "average content size"),
}
_NEEDED = ("timestamp", "users", "requests", "failures")
_TOTAL = ("Aggregated", "Total")
_NO_METHOD = ("", "None", "N/A")
_LATEST = 253_402_300_799
"""Latest time: the end of the year 9999, in seconds. Times in milliseconds are later and refused."""
_MOST_USERS = 10_000_000
_CLOCK_BACK_MOST_S = 60.0
"""Rows may be earlier than the row before by at most this, since a clock may be set back: they count as simultaneous."""

Key = tuple[str, str]
"""(name, method) of an endpoint."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Cumulative counters since the start of the run, or since its statistics were reset."""

    requests: int = 0
    failures: int = 0
    response_sum_ms: float | None = 0.0
    """Sum over all requests, failures included; None if the file has no such column."""
    received_bytes: float = 0.0


@dataclass(slots=True)
class Observation:
    """The rows of one time."""

    at_s: float
    """Seconds since 1970; Locust writes whole seconds."""
    users: int
    line: int
    total: Counters | None = None
    endpoints: dict[Key, Counters] = field(default_factory=dict)

    @property
    def is_timed(self) -> bool:
        """Whether response times are known."""
        return None not in {each.response_sum_ms for each in (*self.endpoints.values(), self.total or Counters())}

    def counters(self, *, by_endpoint: bool) -> dict[Key, Counters]:
        """Counters by endpoint; without `by_endpoint` only those of the total."""
        if by_endpoint:
            return self.endpoints
        return {("Aggregated", ""): self.total or Counters()}


def is_history(columns: Sequence[str]) -> bool:
    """Whether the columns are those of a Locust history."""
    return "timestamp" in {column.lower() for column in columns}


def read_history(file: CsvFile) -> list[Observation]:
    """One observation per time, in order; of several rows for one endpoint at that time the last counts. Raises InputError."""
    columns = _columns(file)
    timestamp = Column(file, columns["timestamp"], most=_LATEST)
    users = Column(file, columns["users"], most=_MOST_USERS, whole=True)
    counters = _CounterColumns(file, columns)
    found: list[Observation] = []
    for line, cells in file.rows:
        at_s = timestamp.value(line, cells)
        if found and at_s < found[-1].at_s - _CLOCK_BACK_MOST_S:
            raise file.error(line, f"`{timestamp.name}` goes back by {found[-1].at_s - at_s:g} s: another run's rows?")
        if not found or at_s > found[-1].at_s:
            found.append(Observation(at_s, 0, line))
        latest = found[-1]
        latest.users, latest.line = int(users.value(line, cells)), line
        key = counters.key(cells)
        if key is None:
            latest.total = counters.read(line, cells)
        else:
            latest.endpoints[key] = counters.read(line, cells)
    found = _from_first_user(_with_totals(found))
    if len(found) < 2:
        raise InputError(f"{file.path}: expected at least two moments, since rates are differences; it has {len(found)}")
    return found


def _with_totals(found: list[Observation]) -> list[Observation]:
    """The observations with a total; all if none has one. The last one has none if the file was cut off before it."""
    totalled = [each for each in found if each.total is not None]
    return totalled or found


def _from_first_user(found: list[Observation]) -> list[Observation]:
    """The observations from the last one before the first user started."""
    first = next((index for index, each in enumerate(found) if each.users), 0)
    return found[max(0, first - 1) :]


def adds_up(observations: Sequence[Observation]) -> bool:
    """Whether there are rows of endpoints, and their requests always add up to the total."""
    return any(each.endpoints for each in observations) and all(
        each.total is None or sum(counters.requests for counters in each.endpoints.values()) == each.total.requests
        for each in observations
    )


class _CounterColumns:
    """The columns with counters."""

    def __init__(self, file: CsvFile, columns: dict[str, str]) -> None:
        self._requests = Column(file, columns["requests"], whole=True)
        self._failures = Column(file, columns["failures"], whole=True)
        self._mean_ms = Column(file, columns["mean_ms"]) if "mean_ms" in columns else None
        self._mean_bytes = Column(file, columns["mean_bytes"]) if "mean_bytes" in columns else None
        self._name = file.columns.index(columns["name"]) if "name" in columns else None
        self._method = file.columns.index(columns["method"]) if "method" in columns else None

    def key(self, cells: tuple[str, ...]) -> Key | None:
        """The endpoint of this row; None if it is the total."""
        name = cells[self._name] if self._name is not None else "Aggregated"
        method = cells[self._method] if self._method is not None else ""
        return None if name in _TOTAL and method in _NO_METHOD else (name, method)

    def read(self, line: int, cells: tuple[str, ...]) -> Counters:
        """The counters of this row. Sums are computed from means and counts."""
        requests, failures = int(self._requests.value(line, cells)), int(self._failures.value(line, cells))
        if failures > requests:
            raise self._requests.file.error(line, f"more failures ({failures}) than requests ({requests})")
        return Counters(
            requests,
            failures,
            _sum(self._mean_ms, requests, line, cells) if self._mean_ms else None,
            _sum(self._mean_bytes, requests, line, cells) if self._mean_bytes else 0.0,
        )


def _sum(mean: Column, requests: int, line: int, cells: tuple[str, ...]) -> float:
    """An empty cell is a mean of no values: our own files have it while all requests were warm-up."""
    return (mean.value_or_none(line, cells) or 0.0) * requests if requests else 0.0


def _columns(file: CsvFile) -> dict[str, str]:
    """Names of the columns in this file, by the keys of _NAMES. Raises InputError if a needed one is missing."""
    by_lower = {column.lower(): column for column in file.columns}
    found = {}
    for what, names in _NAMES.items():
        named = next((by_lower[name] for name in names if name in by_lower), None)
        if named is not None:
            found[what] = named
    missing = [_NAMES[what][0].title() for what in _NEEDED if what not in found]
    if missing:
        raise file.error(1, f"a Locust stats history was expected; it has no column {', '.join(f'`{each}`' for each in missing)}")
    return found
