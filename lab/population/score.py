"""Scores sessions: each simulated, or judged again from its log, a line each in a file."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import msgspec

import capexplorer
from capexplorer.analysis.reanalysis import detect
from capexplorer.model.events import Event, Mark, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.session.codec import decode, encode
from lab.kit.record import RESULTS

from . import figures
from .beside import BESIDE
from .families import QUEUES, Family, Session
from .limited import LIMITED
from .met import MET
from .stated import Header, Line, line
from .streamed import STREAMED
from .truth import Truth

FAMILIES: dict[str, Family] = {family.name: family for family in (*QUEUES, *LIMITED, *BESIDE, *MET, *STREAMED)}


@dataclass(frozen=True)
class Wanted:
    families: Sequence[str]
    """Names or their beginnings; empty: all."""
    seeds: range
    logs: Path | None = None
    """Where logs are kept."""
    rejudged: Path | None = None
    """Where logs are that are judged again."""

    @property
    def names(self) -> list[str]:
        found = [name for name in FAMILIES if not self.families or any(name.startswith(each) for each in self.families)]
        if not found:
            raise SystemExit(f"no family {' or '.join(self.families)}; there are {', '.join(FAMILIES)}")
        return found

    @property
    def cases(self) -> Iterator[tuple[str, int]]:
        """Families in turn, so that a part of the file has some of each."""
        return ((name, seed) for seed in self.seeds for name in self.names)

    def scored(self, case: tuple[str, int]) -> Line | None:
        """None: there is no log of the session."""
        name, seed = case
        if self.rejudged is not None:
            path = log_path(self.rejudged, name, seed)
            session = read_log(path) if path.exists() else None
        else:
            session = FAMILIES[name].session(seed)
        if session is None:
            return None
        if self.logs is not None:
            write_log(log_path(self.logs, name, seed), session)
        return line(name, seed, session.truth, session.timeline, is_live=self.rejudged is None)


def save(file: Path, wanted: Wanted, processes: int) -> None:
    """Write the file: a header, then a line for each session as it ends."""
    if wanted.logs is not None:
        wanted.logs.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as out, Pool(processes) as pool:
        out.write(msgspec.json.encode(Header(commit=commit(), seeds=(wanted.seeds.start, wanted.seeds.stop))) + b"\n")
        for found in pool.imap(wanted.scored, wanted.cases, chunksize=4):
            if found is not None:
                out.write(msgspec.json.encode(found) + b"\n")
                out.flush()


def read(file: Path) -> list[Line]:
    return [msgspec.json.decode(each, type=Line) for each in file.read_bytes().splitlines()[1:]]


def page() -> str:
    """docs/population.md, from the kept score."""
    file = RESULTS / "population.jsonl"
    return figures.page(header(file), read(file))


def header(file: Path) -> Header:
    return msgspec.json.decode(file.read_bytes().partition(b"\n")[0], type=Header)


def keep(file: Path) -> Path:
    """Copy a score to the results, with the sentences of the wrong sessions alone and, of forbidden statements, those that were
    said; returns its path."""
    kept = (
        msgspec.structs.replace(each, forbidden=each.wrongly_said, sentence=each.sentence * each.is_wrong) for each in read(file)
    )
    path = RESULTS / "population.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in map(msgspec.json.encode, (header(file), *kept))))
    return path


def commit() -> str:
    """That of the product which is scored, with `+changes` if it has any."""
    root = Path(capexplorer.__file__).parents[1]
    command = ["git", "describe", "--always", "--exclude", "*", "--dirty=+changes"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def listed() -> str:
    """Each family with what is true of it."""
    return "\n".join(f"{name}: {each.docstring}" for name, each in FAMILIES.items())


# -- logs ----------------------------------------------------------------------------------------------------------------------


def log_path(folder: Path, family: str, seed: int) -> Path:
    return folder / f"{family}-{seed}.jsonl.z"


def write_log(path: Path, session: Session) -> None:
    """The truth and the events, one a line, compressed."""
    lines = [msgspec.json.encode(session.truth), *map(encode, session.events)]
    path.write_bytes(zlib.compress(b"\n".join(lines), 3))


def read_log(path: Path) -> Session:
    """The session with what the detectors find in it now; levels stay divided as they were."""
    first, *lines = zlib.decompress(path.read_bytes()).splitlines()
    events: list[Event] = [decode(each) for each in lines]
    timeline = Timeline(
        each for each in events if not isinstance(each, Mark | Verdict) or isinstance(each, Mark) and each.kind == "cause"
    )
    for found in detect(timeline):
        timeline.apply(found)
    return Session(msgspec.json.decode(first, type=Truth), timeline, events)
