"""What a headless run leaves for a CI system: options that are refused, files, exit codes, and the baseline."""

from __future__ import annotations

from pathlib import Path

import junitparser
import pytest
from kit.scenario import Scenario
from report.compared import LevelSpec, events

from capexplorer import cli
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.reporting import JOB_SUMMARY, Reporting, reporting_of
from capexplorer.model.events import Ended, Verdict
from capexplorer.report.compare.fail_if import parse
from capexplorer.session.baseline_store import BaselineStore
from capexplorer.session.writer import SessionWriter


def log(folder: Path, name: str, goodput_rps: float = 100.0) -> Path:
    """The log of a session of two levels; at 50 users it has this goodput."""
    writer = SessionWriter(folder / f"{name}.jsonl")
    for event in events([LevelSpec(10), LevelSpec(50, goodput_rps)], id=name):
        writer.write(event)
    writer.close()
    return writer.path


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--junit", "x.xml"], "--junit: needs --headless"),
        (["--headless", "--picture-url", "http://x/y.svg"], "--picture-url: needs --summary"),
        (["--headless", "--fail-if", "knee<-5%"], "--fail-if: needs --baseline-store"),
        (["--headless", "--update-baseline"], "--update-baseline: needs --baseline-store"),
        (["--headless", "--junit", "no/such/x.xml"], "--junit: expected a file in a folder that exists"),
        (["--headless", "--summary", "."], "--summary: expected a file"),
        (["--headless", "--baseline-store", "{file}"], "--baseline-store: expected a folder"),
        (["--headless", "--baseline-store", "b", "--fail-if", "knee"], "--fail-if: expected FIGURE"),
    ],
)
def test_an_option_that_cannot_be_met_is_refused_in_one_line_before_the_run(
    options: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    given = [each.replace("{file}", str(tmp_path / "file")) for each in options]
    assert cli.run(["run", "mixed", "--plan", "1:1s", "--sessions-dir", str(tmp_path / "sessions"), *given]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1
    assert not (tmp_path / "sessions").exists()


def test_nothing_is_written_where_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reporting = reporting_of(RunArguments(headless=True))
    assert (reporting, reporting.of_run(tmp_path / "gone.jsonl", 4)) == (Reporting(), 4)
    assert capsys.readouterr() == ("", "")


def test_the_files_are_written_and_the_page_is_appended_to_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.md"
    job.write_text("before\n")
    monkeypatch.setenv(JOB_SUMMARY, str(job))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    asked = RunArguments(headless=True, junit=tmp_path / "j.xml", summary=tmp_path / "s.md", picture_url="http://x/y.svg")
    assert reporting_of(asked).of_run(log(tmp_path, "a"), 0) == 0
    assert [suite.tests for suite in junitparser.JUnitXml.fromfile(str(tmp_path / "j.xml"))] == [1]
    page = (tmp_path / "s.md").read_text()
    assert job.read_text() == f"before\n{page}"
    assert {path.name for path in tmp_path.glob("s*")} == {"s.md", "s-capacity.svg"}
    assert capsys.readouterr() == ("", "")


def test_files_of_an_earlier_run_are_replaced_and_a_page_without_a_url_has_no_picture_beside_it(tmp_path: Path) -> None:
    for name in ("j.xml", "s.md"):
        (tmp_path / name).write_text("of an earlier run")
    asked = RunArguments(headless=True, junit=tmp_path / "j.xml", summary=tmp_path / "s.md")
    assert reporting_of(asked).of_run(log(tmp_path, "a"), 0) == 0
    assert (tmp_path / "s.md").read_text().startswith("## ")
    assert (tmp_path / "j.xml").read_text().startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "j.xml", "s.md"]


def test_annotations_are_printed_on_github_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, store = log(tmp_path, "new", 80.0), BaselineStore(tmp_path / "store")
    store.keep(log(tmp_path, "old"))
    printed = []
    for value in ("", "true"):
        monkeypatch.setenv("GITHUB_ACTIONS", value)
        asked = RunArguments(headless=True, baseline_store=store.folder, fail_if=("goodput<-5%",))
        reporting_of(asked).of_run(path, 0)
        out, err = capsys.readouterr()
        assert out == "", "it has the path of the log alone"
        printed.append([line for line in err.splitlines() if line.startswith("::")])
    assert printed[0] == []
    (line,) = printed[1]
    assert line.startswith("::error title=")


@pytest.mark.parametrize(
    ("code", "condition", "expected"),
    [
        (0, "goodput<-5%", 3),
        (5, "goodput<-5%", 3),
        (0, "goodput<-50%", 0),
        (5, "goodput<-50%", 5),
        (0, "goodput@70<-5%", 5),
        (3, "goodput@70<-5%", 3),
        (4, "goodput<-5%", 4),
        (130, "goodput<-5%", 130),
    ],
)
def test_conditions_change_the_exit_code_of_a_run_that_measured(code: int, condition: str, expected: int, tmp_path: Path) -> None:
    store = BaselineStore(tmp_path / "store")
    store.keep(log(tmp_path, "old"))
    reporting = Reporting(store=store, conditions=(parse(condition),))
    assert reporting.of_run(log(tmp_path, "new", 80.0), code) == expected


def test_only_a_run_with_exit_code_0_becomes_the_baseline(tmp_path: Path) -> None:
    store = BaselineStore(tmp_path / "store")
    asked = RunArguments(
        headless=True, baseline_store=store.folder, fail_if=("goodput<-5%",), update_baseline=True, junit=tmp_path / "j.xml"
    )
    reporting = reporting_of(asked)
    assert reporting.of_run(log(tmp_path, "first"), 0) == 0, "there is no baseline yet"
    (_, conditions) = junitparser.JUnitXml.fromfile(str(tmp_path / "j.xml"))
    assert (conditions.tests, conditions.skipped) == (1, 1)
    (skipped,) = next(iter(conditions)).result
    assert "mixed" in skipped.message
    for name, goodput_rps, code in (("worse", 80.0, 3), ("equal", 100.0, 0)):
        assert reporting.of_run(log(tmp_path, name, goodput_rps), 0) == code
    assert sorted(path.stem for path in store.folder.rglob("*.jsonl")) == ["equal", "first"]


def test_a_session_that_others_disturbed_does_not_become_the_baseline(tmp_path: Path) -> None:
    scenario = Scenario().level(users=4, rps=90).level(users=8, rps=120).add(Verdict(t_s=28.0, disturbed_levels=(1,)))
    path = scenario.add(Ended(t_s=30.0, reason="plan done")).write(tmp_path / "a.jsonl")
    assert Reporting(store=BaselineStore(tmp_path / "store"), updates=True).of_run(path, 0) == 0
    assert not (tmp_path / "store").exists()


def test_a_foreign_file_in_the_store_is_named_and_the_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (foreign := tmp_path / "store" / "mixed" / "notes.txt").parent.mkdir(parents=True)
    foreign.write_text("mine")
    assert Reporting(store=BaselineStore(tmp_path / "store")).of_run(log(tmp_path, "a"), 0) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if str(foreign) in line]
    assert line.startswith("capexplorer: ")


def test_a_file_that_cannot_be_written_is_one_line_and_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reporting, path = Reporting(junit=tmp_path / "no" / "j.xml"), log(tmp_path, "a")
    assert (reporting.of_run(path, 0), reporting.of_run(path, 4)) == (2, 4)
    lines = capsys.readouterr().err.splitlines()
    assert [f"{tmp_path}/no/j.xml" in line for line in lines] == [True, True]


def test_a_page_of_the_job_that_cannot_be_written_is_one_line_and_the_others_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reporting = Reporting(job_summary=tmp_path / "no" / "job.md", junit=tmp_path / "j.xml")
    assert reporting.of_run(log(tmp_path, "a"), 0) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{JOB_SUMMARY}: {tmp_path}/no/job.md" in line
    assert (tmp_path / "j.xml").exists()
