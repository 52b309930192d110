"""`capexplorer compare` as it is called: what it prints, writes and exits with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from capexplorer import cli
from capexplorer.model.events import Event, LevelClosed
from capexplorer.session import titles
from capexplorer.session.writer import SessionWriter

from .compared import Seen, events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path, "old", events([Seen(10), Seen(50)], id="old"))
    save(tmp_path, "new", events([Seen(10), Seen(50, 80.0)], id="new"))
    save(tmp_path, "both", events([Seen(10), Seen(10, 50.0, epoch=1)], id="both"))
    return tmp_path


def save(folder: Path, name: str, events: Sequence[Event]) -> Path:
    writer = SessionWriter(folder / f"{name}.jsonl")
    for event in events:
        writer.write(event)
    writer.close()
    return writer.path


def run(folder: Path, *args: str) -> int:
    return cli.run(["compare", *args, "--sessions-dir", str(folder)])


def test_without_a_terminal_it_prints_markdown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "old", "new") == 0
    assert capsys.readouterr().out.startswith("# Comparison\n\n**B finishes less than A")


def test_the_form_is_that_of_the_files_name_and_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = folder / "out.json"
    assert run(folder, "old", "new", "-o", str(output)) == 0
    assert json.loads(output.read_text())["schema"] == "capexplorer.compare/1"
    assert run(folder, "old", "new", "-o", str(output), "--format", "html") == 2
    assert "exists already" in capsys.readouterr().err
    assert run(folder, "old", "new", "-o", str(output), "--format", "html", "--force") == 0
    assert output.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("both",), ["both#0", "both#1"]),
        (("both#1", "old"), ["both#1", "old"]),
        (("both:epoch=0", "old"), ["both#0", "old"]),
        (("old", "both"), ["old", "both#0", "both#1"]),
    ],
)
def test_epochs_are_named_or_stand_for_themselves(
    args: Sequence[str], names: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, *args, "--format", "json") == 0
    sessions = json.loads(capsys.readouterr().out)["sessions"]
    assert [each["id"] + ("" if each["epoch"] is None else f"#{each['epoch']}") for each in sessions] == names


def test_a_title_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    titles.write(folder / "new.jsonl", "after the fix")
    assert run(folder, "old", "new") == 0
    assert "new  after the fix" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("condition", "code", "sentence"),
    [
        ("goodput<-5%", 3, "goodput<-5%: B against A: holds at 50 users"),
        ("goodput<-50%", 0, "goodput<-50%: passed"),
        ("knee<-5%", 2, "--fail-if: knee<-5%: B against A: cannot be judged"),
        ("goot<-5%", 2, "did you mean `goodput`?"),
    ],
)
def test_conditions_decide_the_exit_code(
    condition: str, code: int, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "old", "new", "--fail-if", condition) == code
    assert sentence in capsys.readouterr().err


def test_one_that_fails_counts_more_than_one_that_cannot_be_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "old", "new", "--fail-if", "knee<-5%", "--fail-if", "goodput<-5%") == 3
    assert "cannot be judged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("old",), "expected two sessions or more"),
        (("old", "gone"), "no session `gone`"),
        (("old", "both#7"), "both#7: no such epoch"),
        (("old", "both#x"), "expected a number behind `#`"),
    ],
)
def test_wrong_input_is_one_line(args: Sequence[str], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, *args) == 2
    reported = capsys.readouterr().err
    assert sentence in reported and len(reported.splitlines()) == 1


def test_warnings_are_reported_on_stderr_too_and_a_torn_log_is_compared_as_far_as_it_goes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = events([Seen(10, 90.0), Seen(50)], id="torn", complete=False)
    assert isinstance(recorded[-1], LevelClosed)
    path = save(folder, "torn", recorded)
    path.write_bytes(path.read_bytes()[:-40])
    assert run(folder, "old", "torn") == 0
    captured = capsys.readouterr()
    assert "B ended early" in captured.err and "cut off" in captured.err
    assert "| 10 | goodput/s | 100.0 | 90.0 |" in captured.out


def test_damage_of_a_log_is_a_warning_in_the_comparison_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "new.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].replace(b'"t_s":', b'"t_s":1', 1)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert run(folder, "old", "new", "--format", "json") == 0
    sentence = json.loads(capsys.readouterr().out)["warnings"]
    assert "B: 2 damaged or missing lines in its log are missing from its figures." in sentence
