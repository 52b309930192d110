"""The sample sessions of the product are small, complete, and contain no names of a machine or its folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import paths
from capexplorer.model.events import Note
from capexplorer.model.timeline import Timeline
from capexplorer.session.catalog import list_sessions
from capexplorer.session.reader import open_session

SAMPLES = paths.sample_sessions()
each_sample = pytest.mark.parametrize("path", SAMPLES.values(), ids=SAMPLES)


def test_there_are_samples_and_one_is_called_sample() -> None:
    assert set(SAMPLES) >= {"sample", "sample-4-threads", "sample-ports"}


@each_sample
def test_a_sample_is_complete_and_small(path: Path) -> None:
    assert path.stat().st_size <= 520_000
    with open_session(path) as session:
        timeline = Timeline(session)
        assert session.notes == [] and session.header.id == path.stem
    assert timeline.ended is not None and timeline.ended.exit_code == 0
    settled = [level for level in timeline.levels if level.figures.settled]
    assert len(settled) == len(timeline.levels) >= 1
    [entry] = [entry for entry in list_sessions([path.parent]) if entry.path == path]
    assert entry.complete and entry.problem is None


@each_sample
def test_no_sample_names_a_machine_or_its_folders(path: Path) -> None:
    with open_session(path) as session:
        header = session.header
    assert header.host.name is None and header.host.cpus is not None
    assert "/" not in header.target.command[0]
    content = path.read_text(encoding="utf-8")
    for foreign in ("/home/", "/root/", "/work/", "/tmp/", "/Users/", "venv", "site-packages"):
        assert foreign not in content  # with the last slash, since "/work" is an endpoint of a sample


def test_the_first_sample_has_a_note_and_returns_to_a_low_level() -> None:
    with open_session(SAMPLES["sample"]) as session:
        timeline = Timeline(session)
    assert [level.users for level in timeline.levels] == [5, 10, 20, 40, 60, 100, 20]
    assert [entry.text for entry in timeline.journal if isinstance(entry, Note)] == ["from about here on throughput hardly grows"]
