"""Results of rows as lines of JSON: appended as each run ends, so that failures are kept."""

from __future__ import annotations

from pathlib import Path

import msgspec

RESULTS = Path(__file__).resolve().parent / "results" / "faults.jsonl"

DISTURBED_CORES = 0.5
"""Cores that other processes used, above which a run is disturbed."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One row with one client class."""

    at: str
    commit: str
    row: str
    family: str
    client: str
    workers: int = 0
    """Worker processes that generated the load; 0: the run's own process."""
    fault: str
    expected: list[str]
    marked: list[str]
    """Every current cause, bottleneck and leak at the end, most severe first."""
    evidence: str
    verdict: str
    """`right`, what is missing and what is wrong, or `skipped: why`."""
    seconds: float = 0.0
    neighbours: float = 0.0
    """Cores that other processes used: the median over the run's seconds."""

    @property
    def right(self) -> bool:
        return self.verdict == "right"

    @property
    def disturbed(self) -> bool:
        """Whether other processes disturbed the run, so that marks may be true of them."""
        return self.neighbours > DISTURBED_CORES

    @property
    def skipped(self) -> bool:
        return self.verdict.startswith("skipped")


def append(result: Result) -> None:
    """Append a line."""
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def load() -> list[Result]:
    """All lines so far."""
    return [msgspec.json.decode(line, type=Result) for line in RESULTS.read_bytes().splitlines()] if RESULTS.exists() else []


def latest() -> list[Result]:
    """The last of each row, client and number of workers."""
    return list({(result.row, result.client, result.workers): result for result in load()}.values())
