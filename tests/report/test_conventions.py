"""One meaning of `±` and one of brackets, in every export, and said once in each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capexplorer import cli
from capexplorer.commands.headless import level_line
from capexplorer.model.events import Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Session, compare
from capexplorer.report.compare.sentences import knee, noise
from capexplorer.report.knees import lines
from capexplorer.session.reader import open_session
from capexplorer.tui.screens.help import MEANINGS
from capexplorer.wording import CONVENTIONS, INTERVALS

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sessions" / "sample.jsonl"
LETTERS = re.compile(r"[^\w±\[\]%().,:;–-]+")


def sample() -> Timeline:
    with open_session(SAMPLE) as log:
        return Timeline(log)


def plain(sentence: str) -> str:
    """Without layout and escapes."""
    return LETTERS.sub(" ", sentence.replace("\\", "").replace("&#x27;", "'"))


def half(printed: str) -> float:
    """The number after the ±."""
    found = re.search(r"±\s*([\d.]+)", printed)
    assert found is not None, printed
    return float(found[1])


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_each_export_says_once_what_its_signs_mean(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", str(SAMPLE), "--format", form]) == 0
    assert plain(capsys.readouterr().out).count(plain(INTERVALS)) == 1


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_each_comparison_says_once_what_its_signs_mean(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", str(SAMPLE), str(ROOT / "sessions" / "sample-4-threads.jsonl"), "--format", form]) == 0
    assert plain(capsys.readouterr().out).count(plain(INTERVALS)) == 1


def test_the_help_says_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert dict(MEANINGS["live"])["±"] == CONVENTIONS.removeprefix("± ")
    assert cli.run(["export", "--help"]) == 0
    assert plain(CONVENTIONS) in plain(capsys.readouterr().out)


def test_every_plus_minus_is_196_standard_errors() -> None:
    timeline = sample()
    verdict: Verdict = timeline.verdicts[0]
    assert verdict.capacity.curve is not None and verdict.capacity.curve.capacity_se_rps is not None
    expected = pytest.approx(1.96 * verdict.capacity.curve.capacity_se_rps, rel=0.05)
    row = next(line for line in lines(timeline) if line[0] == "knee")
    (curve, _) = compare([Session(timeline), Session(timeline)]).curves
    assert half(row[3]) == expected
    assert half(knee(curve)) == expected
    level = timeline.levels[3]
    assert level.closed is not None and level.figures.goodput_se_rps is not None
    assert half(level_line(level.closed)) == pytest.approx(1.96 * level.figures.goodput_se_rps, rel=0.1)


def test_the_threshold_of_a_difference_is_not_shown_as_plus_minus() -> None:
    pair = compare([Session(sample()), Session(sample())]).pairs[0]
    assert not [one for level in pair.levels for one in level.differences if "±" in noise(one)]
