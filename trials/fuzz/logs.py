"""Damaged session logs through all that reads one: no traceback, no hang, no figure that changed without a note.

A log with seals must either give the same summary, or notes of its damage, or be refused in one line. Where nothing can tell
(a log of schema 1; a line with a forged seal) the figures may differ, and all else must hold.
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
from capexplorer.commands.judging import judged
from capexplorer.errors import CapexplorerError, InputError
from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.report import csv, hgrm, html, json, locust_csv, markdown
from capexplorer.report.compare import Session, compare
from capexplorer.report.redaction import redacted
from capexplorer.report.summary import summarise
from capexplorer.session.catalog import entry_of
from capexplorer.session.digest import digest_of
from capexplorer.session.reader import open_session

from .cases import Result, run_cases
from .damage import SEEN, UNSEEN, joined
from .small_logs import Lines, small_logs

Step = Callable[[Path, random.Random], object]


def run(count: int, seed: int) -> Result:
    """The cases `seed` to `seed + count - 1`."""
    with tempfile.TemporaryDirectory(prefix="fuzz-logs-") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # what a library warns of would stand on stderr, and be no figure
        path = Path(folder) / "session.jsonl"
        return run_cases(lambda chance: _case(path, chance), count, seed)


def _case(path: Path, chance: random.Random) -> str:
    lines = chance.choice(small_logs())
    sealed = lines in small_logs()[: len(small_logs()) // 2]
    damage = chance.choice(SEEN + UNSEEN)
    seen = sealed and damage in SEEN
    path.write_bytes(damage(lines, chance))
    outcome = _read(path, lines, detectable=seen)
    if outcome == "refused":
        return outcome
    for step in chance.sample(STEPS, 1 if seen else 2):
        _one_line(step, path, chance)
    return outcome


def _read(path: Path, lines: Lines, *, detectable: bool) -> str:
    """Open and summarise it. AssertionError for a figure that changed without a note, where notes are due."""
    try:
        with open_session(path) as log:
            document = summarise(Timeline(log))
            notes = log.notes
    except CapexplorerError as error:
        assert "\n" not in str(error), f"more than one line: {error}"
        return "refused"
    summary = json.render(document)
    if summary == _undamaged(lines):
        return "same figures"
    if notes:
        return "noted"
    if not detectable:
        return "other figures, nothing can tell"
    assert not document["session"]["complete"], "a figure changed without a note"
    return "ended early"


@cache
def _undamaged(lines: Lines) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(joined(lines))
        file.flush()
        with open_session(Path(file.name)) as log:
            return json.render(summarise(Timeline(log)))


def _one_line(step: Step, path: Path, chance: random.Random) -> None:
    try:
        step(path, chance)
    except InputError as error:
        assert "\n" not in str(error), f"more than one line: {error}"


def _events(path: Path) -> Iterable[Event]:
    with open_session(path) as log:
        yield from log


def _reanalyse(path: Path, chance: random.Random) -> None:
    found = reanalyse_events(_events(path))
    timeline = Timeline(reanalysed_events(_events(path), found, "fuzz"))
    chance.choice((markdown.render, html.render))(timeline)


def _compare(path: Path, chance: random.Random) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(joined(chance.choice(small_logs())))
        file.flush()
        sessions = [Session(Timeline(_events(each))) for each in (path, Path(file.name))]
    chance.shuffle(sessions)
    rendered(compare(sessions), chance.choice(("md", "html", "json")))


def _replay(path: Path, chance: random.Random) -> None:
    replay = Replay(path)
    try:
        replay.read_on()
        replay.prepare()
        for _ in range(2):
            timeline = replay.at(chance.random() * replay.duration_s)
            _ = [(level.figures, level.endpoints, level.bins) for level in timeline.levels], list(timeline.log)
    finally:
        replay.close()


def _list(path: Path, chance: random.Random) -> None:
    entry_of(path)
    digest_of(path, judged)


STEPS: tuple[Step, ...] = (
    lambda path, chance: markdown.with_picture(Timeline(_events(path)), "session.md"),
    lambda path, chance: html.render(Timeline(_events(path))),
    lambda path, chance: csv.render(Timeline(_events(path))),
    lambda path, chance: hgrm.render(Timeline(_events(path))),
    lambda path, chance: locust_csv.render(_events(path)),
    lambda path, chance: json.render(summarise(Timeline(redacted(_events(path))))),
    _reanalyse,
    _compare,
    _replay,
    _list,
)
