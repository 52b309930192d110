"""Damaged session logs are given to everything that reads logs: no traceback, no hang, no figure that changed without a note.

A log must either give the same summary, or notes of its damage, or be refused in one line. Where damage cannot be detected (a
line with a forged seal) figures may differ; the rest must hold.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.commands.compare import rendered
from capexplorer.commands.sessions import judged
from capexplorer.errors import CapexplorerError, InputError
from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.report import csv, formats, hgrm, html, locust_csv, markdown
from capexplorer.report.compare import Session, compare
from capexplorer.report.redaction import redacted
from capexplorer.report.summary import summarise
from capexplorer.session.beside import digest_of
from capexplorer.session.catalog import entry_of
from capexplorer.session.reader import open_session

from .cases import Fuzzed, run_cases
from .damage import DETECTABLE, UNDETECTABLE, Lines, joined, small_logs

Step = Callable[[Path, random.Random], object]


def run(count: int, seed: int) -> Fuzzed:
    """The cases `seed` to `seed + count - 1`."""
    with tempfile.TemporaryDirectory(prefix="fuzz-logs-") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of a library would be printed among the output
        path = Path(folder) / "session.jsonl"
        return run_cases(lambda rng: _case(path, rng), count, seed)


def _case(path: Path, rng: random.Random) -> str:
    lines = rng.choice(small_logs())
    damage = rng.choice(DETECTABLE + UNDETECTABLE)
    is_detectable = damage in DETECTABLE
    path.write_bytes(damage(lines, rng))
    outcome = _read(path, lines, is_detectable=is_detectable)
    if outcome == "refused":
        return outcome
    for step in rng.sample(STEPS, 1 if is_detectable else 2):
        _carry_out(step, path, rng)
    return outcome


def _read(path: Path, lines: Lines, *, is_detectable: bool) -> str:
    """Open and summarise the log; returns the outcome. AssertionError if a figure changed by detectable damage without a note."""
    try:
        with open_session(path) as log:
            document = summarise(Timeline(log))
            notes = log.notes
    except CapexplorerError as error:
        assert "\n" not in str(error), f"more than one line: {error}"
        return "refused"
    summary = formats.render(document)
    if summary == _undamaged(lines):
        return "same figures"
    if notes:
        return "noted"
    if not is_detectable:
        return "other figures, nothing can tell"
    assert not document["session"]["complete"], "a figure changed without a note"
    return "ended early"


@cache
def _undamaged(lines: Lines) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(joined(lines))
        file.flush()
        with open_session(Path(file.name)) as log:
            return formats.render(summarise(Timeline(log)))


def _carry_out(step: Step, path: Path, rng: random.Random) -> None:
    """One use of the log. AssertionError if it is refused in more than one line."""
    try:
        step(path, rng)
    except InputError as error:
        assert "\n" not in str(error), f"more than one line: {error}"


def _events(path: Path) -> Iterable[Event]:
    with open_session(path) as log:
        yield from log


def _reanalyse(path: Path, rng: random.Random) -> None:
    found = reanalyse_events(_events(path))
    timeline = Timeline(reanalysed_events(_events(path), found, "fuzz"))
    rng.choice((markdown.render, html.render))(timeline)


def _compare(path: Path, rng: random.Random) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(joined(rng.choice(small_logs())))
        file.flush()
        sessions = [Session(Timeline(_events(each))) for each in (path, Path(file.name))]
    rng.shuffle(sessions)
    rendered(compare(sessions), rng.choice(("md", "html", "json")))


def _replay(path: Path, rng: random.Random) -> None:
    replay = Replay(path)
    try:
        replay.read_on()
        replay.prepare()
        for _ in range(2):
            timeline = replay.at(rng.random() * replay.duration_s)
            _ = [(level.figures, level.endpoints, level.bins) for level in timeline.levels], list(timeline.log)
    finally:
        replay.close()


def _list(path: Path, rng: random.Random) -> None:
    entry_of(path)
    digest_of(path, judged)


STEPS: tuple[Step, ...] = (
    lambda path, rng: markdown.with_picture(Timeline(_events(path)), "session.md"),
    lambda path, rng: html.render(Timeline(_events(path))),
    lambda path, rng: csv.render(Timeline(_events(path))),
    lambda path, rng: hgrm.render(Timeline(_events(path))),
    lambda path, rng: locust_csv.render(_events(path)),
    lambda path, rng: formats.render(summarise(Timeline(redacted(_events(path))))),
    _reanalyse,
    _compare,
    _replay,
    _list,
)
