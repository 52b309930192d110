"""Results as files: rows as CSV, and the commit and machine on which they were made as JSON of the same name."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.trials.record import RESULTS, Conditions, save

from .exploration import Exploration

FIELDS = Exploration.__struct_fields__


def write(name: str, rows: Sequence[Exploration], began: Conditions, command: str) -> Path:
    """Replace `NAME.csv` and `NAME.json`; returns the path of the rows."""
    path = RESULTS / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for row in sorted(rows, key=lambda row: (row.service, row.seed, row.finder)):
            writer.writerow([_text(getattr(row, field)) for field in FIELDS])
    save(name, {"command": command, "explorations": len(rows)}, began)
    return path


def read(name: str) -> list[Exploration]:
    """The rows of `NAME.csv`; empty if the file does not exist."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(fields) for fields in csv.DictReader(file)]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(_text(each) for each in value)
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _row(fields: dict[str, str]) -> Exploration:
    def number(name: str) -> float | None:
        return float(fields[name]) if fields[name] else None

    return Exploration(
        finder=fields["finder"],
        service=fields["service"],
        seed=int(fields["seed"]),
        knees=tuple(_numbers(fields["knees"].split())),
        users=number("users"),
        users_low=number("users_low"),
        users_high=number("users_high"),
        capacity_rps=number("capacity_rps"),
        seconds=float(fields["seconds"]),
        most_users=int(fields["most_users"]),
        overload_s=float(fields["overload_s"]),
    )


def _numbers(texts: Iterable[str]) -> Iterable[float]:
    return (float(text) for text in texts)
