"""Results of runs as lines of JSON: appended as each run ends, so that a later failure loses none and wrong ones are kept."""

from __future__ import annotations

import msgspec

from lab.trials.record import RESULTS

from .row import Client

PATH = RESULTS / "moving.jsonl"


class MovingRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one row with one client class."""

    at: str = ""
    """When it ended; empty: it has not."""
    commit: str
    row: str
    client: Client
    number: int
    workers: int = 0
    """Worker processes that generated the load; 0: the run's own process."""
    parallel: int = 1
    """Runs that were carried out at a time."""
    wrong: tuple[str, ...] = ()
    """Problems of the marks at the end; empty: all are right."""
    once: tuple[str, ...] = ()
    """Wrong knees and capacities that were marked at any time, including retracted ones."""
    verdict: str = ""
    seconds: float = 0.0
    host_cpu_ratio: float | None = None
    """Busy cores, the median over settled seconds; most services use 0.2 cores."""
    exit_code: int | None = None

    @property
    def right(self) -> bool:
        return not self.wrong

    @property
    def disturbed(self) -> bool:
        """Whether other runs shared the machine, so that its marks may be true of them."""
        return self.parallel > 1


def append(run: MovingRun) -> None:
    """Append a line."""
    with PATH.open("ab") as file:
        file.write(msgspec.json.encode(run) + b"\n")


def all_runs() -> list[MovingRun]:
    """All lines so far."""
    return [msgspec.json.decode(line, type=MovingRun) for line in PATH.read_bytes().splitlines()] if PATH.exists() else []


def latest(runs: list[MovingRun]) -> list[MovingRun]:
    """The last of each row, client, number and number of workers."""
    return list({(run.row, run.client, run.number, run.workers): run for run in runs}.values())
