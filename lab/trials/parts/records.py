"""Results of rows as lines of JSON: appended as each run ends, so that wrong ones are kept."""

from __future__ import annotations

import msgspec

from lab.trials.faults.records import DISTURBED_CORES
from lab.trials.record import RESULTS

PATH = RESULTS / "parts.jsonl"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One row in one place."""

    at: str
    commit: str
    row: str
    place: str
    fault: str
    part: str | None
    expected: list[str]
    marked: list[str]
    """`ID of PART`: all causes, bottlenecks and leaks that were marked at the end."""
    evidence: str
    verdict: str
    """`right`; what is missing and what is wrong; `spoilt by neighbours: ` what is missing; or `skipped: why`."""
    seconds: int
    neighbours: float
    """Cores that other processes used: the median over the run's seconds."""
    reader_cpu_ratio: dict[str, float]
    """Cores that each part's reader used."""

    @property
    def right(self) -> bool:
        return self.verdict == "right"

    @property
    def skipped(self) -> bool:
        return self.verdict.startswith("skipped")

    @property
    def disturbed(self) -> bool:
        """Whether other processes used so many cores that they, and not the fault, may have limited the service."""
        return self.neighbours > DISTURBED_CORES

    @property
    def spoilt(self) -> bool:
        """Whether a missing mark may be due to other processes alone. A wrong mark is wrong in any case."""
        return self.disturbed and not self.right and not self.skipped and "wrong" not in self.verdict

    @property
    def wrong(self) -> bool:
        return not (self.right or self.skipped or self.spoilt)


def append(result: Result) -> None:
    """Append a line."""
    with PATH.open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def latest() -> list[Result]:
    """The last result of each row and place."""
    lines = PATH.read_bytes().splitlines() if PATH.exists() else []
    results = [msgspec.json.decode(line, type=Result) for line in lines]
    return list({(result.row, result.place): result for result in results}.values())
