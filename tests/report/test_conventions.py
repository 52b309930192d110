"""`±` and brackets have one meaning in all exports, which the helps of the screen and of `export` explain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capexplorer import cli
from capexplorer.commands.run.exploring import level_line
from capexplorer.model.events import Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Session, compare
from capexplorer.report.compare.sentences import knee
from capexplorer.report.tables import knees
from capexplorer.session.reader import open_session
from capexplorer.tui.screens.help import MEANINGS
from capexplorer.wording import CONVENTIONS

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sessions" / "sample.jsonl"
BETWEEN_WORDS = re.compile(r"[^\w±\[\]%().,:;–-]+")


def sample_timeline() -> Timeline:
    """The timeline of the first sample session."""
    with open_session(SAMPLE) as log:
        return Timeline(log)


def without_layout(sentence: str) -> str:
    return BETWEEN_WORDS.sub(" ", sentence)


def half_width(printed: str) -> float:
    """The number after the ±."""
    found = re.search(r"±\s*([\d.]+)", printed)
    assert found is not None, printed
    return float(found[1])


def test_the_help_of_the_screen_and_of_export_explains_the_signs(capsys: pytest.CaptureFixture[str]) -> None:
    assert dict(MEANINGS["live"])["±"] == CONVENTIONS.removeprefix("± ")
    assert cli.run(["export", "--help"]) == 0
    assert without_layout(CONVENTIONS) in without_layout(capsys.readouterr().out)


def test_a_plus_minus_is_196_standard_errors() -> None:
    timeline = sample_timeline()
    verdict: Verdict = timeline.verdicts[0]
    assert verdict.capacity.curve is not None
    assert verdict.capacity.curve.capacity_se_rps is not None
    expected = pytest.approx(1.96 * verdict.capacity.curve.capacity_se_rps, rel=0.05)
    knee_row = next(row for row in knees(timeline).rows if row[0] == "knee")
    (curve, _) = compare([Session(timeline), Session(timeline)]).curves
    assert half_width(knee_row[3]) == expected, "the table of knees"
    assert half_width(knee(curve)) == expected, "a comparison"
    level = timeline.levels[3]
    assert level.closed is not None
    assert level.figures.goodput_se_rps is not None
    assert half_width(level_line(level.closed)) == pytest.approx(1.96 * level.figures.goodput_se_rps, rel=0.1)
