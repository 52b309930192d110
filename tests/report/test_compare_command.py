"""`capexplorer compare` as a command: its output, its files, its exit code, and input that it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import junitparser
import pytest

from capexplorer import cli
from capexplorer.model.events import Event, LevelClosed
from capexplorer.session import files
from capexplorer.session.writer import SessionWriter

from .compared import LevelSpec, events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three sessions; `both` has two epochs."""
    save(tmp_path, "old", events([LevelSpec(10), LevelSpec(50)], id="old"))
    save(tmp_path, "new", events([LevelSpec(10), LevelSpec(50, 80.0)], id="new"))
    save(tmp_path, "both", events([LevelSpec(10), LevelSpec(10, 50.0, epoch=1)], id="both"))
    return tmp_path


def save(folder: Path, name: str, events: Sequence[Event]) -> Path:
    """Record a session, and return the path of its log."""
    writer = SessionWriter(folder / f"{name}.jsonl")
    for event in events:
        writer.write(event)
    writer.close()
    return writer.path


def run(folder: Path, *args: str) -> int:
    """The exit code of `compare` with these arguments."""
    return cli.run(["compare", *args, "--sessions-dir", str(folder)])


def test_without_a_terminal_the_comparison_is_printed_as_markdown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "old", "new") == 0
    assert capsys.readouterr().out.startswith("# Comparison\n\n**B is worse than A: goodput at 50 users")


def test_the_format_follows_the_file_name_and_overwriting_needs_force(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = folder / "out.json"
    assert run(folder, "old", "new", "-o", str(output)) == 0
    assert json.loads(output.read_text())["schema"] == "capexplorer.compare/1"
    assert run(folder, "old", "new", "-o", str(output), "--format", "html") == 2
    assert "exists already" in capsys.readouterr().err
    assert run(folder, "old", "new", "-o", str(output), "--format", "html", "--force") == 0
    assert output.read_text().startswith("<!doctype html>")


def test_conditions_are_the_test_cases_of_an_xml_file_and_decide_the_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = folder / "out.xml"
    conditions = ("--fail-if", "goodput<-5%", "--fail-if", "goodput@10<-5%")
    assert run(folder, "old", "new", "-o", str(output), *conditions) == 3
    (suite,) = junitparser.JUnitXml.fromfile(str(output))
    assert [(case.name, case.is_passed) for case in suite] == [
        ("--fail-if goodput<-5%", False),
        ("--fail-if goodput@10<-5%", True),
    ]
    capsys.readouterr()
    assert run(folder, "old", "new", "--format", "junit") == 2
    assert capsys.readouterr().err.startswith("capexplorer: --format junit: needs --fail-if")


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("both",), ["both#0", "both#1"]),
        (("both#1", "old"), ["both#1", "old"]),
        (("both:epoch=0", "old"), ["both#0", "old"]),
        (("old", "both"), ["old", "both#0", "both#1"]),
    ],
)
def test_epochs_are_selected_by_number_and_a_session_without_one_means_all_of_them(
    args: Sequence[str], names: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, *args, "--format", "json") == 0
    sessions = json.loads(capsys.readouterr().out)["sessions"]
    assert [each["id"] + ("" if each["epoch"] is None else f"#{each['epoch']}") for each in sessions] == names


def test_the_title_of_a_session_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write_title(folder / "new.jsonl", "after the fix")
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
def test_the_condition_of_fail_if_decides_the_exit_code(
    condition: str, code: int, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "old", "new", "--fail-if", condition) == code
    assert sentence in capsys.readouterr().err


def test_a_failed_condition_has_precedence_over_one_that_cannot_be_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_invalid_sessions_are_refused_in_one_line(
    args: Sequence[str], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, *args) == 2
    reported = capsys.readouterr().err
    assert sentence in reported
    assert len(reported.splitlines()) == 1


def test_a_truncated_log_is_compared_with_warnings_on_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = events([LevelSpec(10, 90.0), LevelSpec(50)], id="truncated", complete=False)
    assert isinstance(recorded[-1], LevelClosed)
    path = save(folder, "truncated", recorded)
    path.write_bytes(path.read_bytes()[:-40])
    assert run(folder, "old", "truncated") == 0
    captured = capsys.readouterr()
    assert "B ended early" in captured.err
    assert "cut off" in captured.err
    assert "| 10 | goodput/s | 100.0 | 90.0 |" in captured.out


def test_damaged_lines_of_a_log_are_a_warning_in_the_comparison(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "new.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].replace(b'"t_s":', b'"t_s":1', 1)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert run(folder, "old", "new", "--format", "json") == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert "B: 2 damaged or missing lines in its log are missing from its figures." in warnings
