"""Reads a CSV file as rows with line numbers, and checks the numbers in its cells.

A file that cannot be read gives an error of one line: file, line, what was expected. Must not know what the columns mean.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import InputError

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
