"""Results of runs as lines of JSON: appended as each run ends, never edited, so that misses are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

RESULTS = Path(__file__).resolve().parent / "results"


class KneeRun(msgspec.Struct, frozen=True, kw_only=True):
    """One autopilot run against a service with a known knee."""

    batch: str
    """When its series of thirty runs began."""
    commit: str
    system: str
    number: int
    repeat: bool = False
    """Whether it repeats a run that was disturbed."""
    true_users: float
    true_rps: float
    users: float | None
    users_low: float | None
    users_high: float | None
    capacity_rps: float | None
    limit: str | None
    confidence: str | None
    found: list[str]
    """Kinds of all current knee marks at the end."""
    seconds: float
    first_knee_s: float | None
    levels: int
    most_users: int
    exit_code: int | None
    load_average: float | None
    loop_lag_p99_ms: float | None
    generator_cpu_ratio: float | None
    target_cpu_ratio: float | None
    """Medians over settled seconds."""
    disturbed: bool
    session: str

    @property
    def error(self) -> float:
        """Relative error of the knee, compared with N*; nan without a knee."""
        return float("nan") if self.users is None else self.users / self.true_users - 1

    @property
    def holds(self) -> bool:
        """Whether the interval contains N*."""
        low, high = self.users_low, self.users_high
        return low is not None and high is not None and low <= self.true_users <= high

    def within(self, share: float) -> bool:
        return abs(self.error) <= share


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an experiment that has no knee to compare, in words."""

    at: str
    commit: str
    experiment: str
    passed: bool
    sentence: str = msgspec.field(name="said")
    """Its key in the file is `said`."""


R = TypeVar("R", bound=msgspec.Struct)


def append(name: str, record: msgspec.Struct) -> None:
    """Append a line to `results/NAME.jsonl`."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(record) + b"\n")


def load(name: str, kind: type[R]) -> list[R]:
    """All lines so far."""
    path = RESULTS / f"{name}.jsonl"
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()] if path.exists() else []
