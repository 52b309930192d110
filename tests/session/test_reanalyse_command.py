"""`--reanalyse` of export, compare and replay: marks that are found now replace the recorded ones, and all changes are listed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from kit.scenario import HEADER, log_lines
from marked import marked

from capexplorer import cli
from capexplorer.analysis import reanalysis
from capexplorer.commands.shared_options import reanalysed_copy
from capexplorer.model.events import Ended, LevelClosed, LevelOpened, Log, Mark, Reanalysed
from capexplorer.model.figures import LevelFigures
from capexplorer.model.findings import Cause
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read
from capexplorer.session.writer import SessionWriter


def knee(users: float) -> Mark:
    evidence = {"capacity_rps": 213.0, "limit": "queueing", "cause": "<b>cpu</b>"}
    return marked(t_s=8.0, key="knee:0", state="open", kind="knee", id="knee", users=users, evidence=evidence)


GONE = marked(t_s=5.0, key="cause:ports", state="open", kind="cause", id="ports_exhausted", evidence={"count": 3})
OBSERVED_BY_RUN = marked(t_s=6.0, key="cause:user_code_error", state="open", kind="cause", id="user_code_error")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with a knee at 28 users, under detectors that find it at 31."""
    monkeypatch.setattr(reanalysis, "DETECTORS", (lambda timeline: [knee(31.0)],))
    path = tmp_path / "old.jsonl"
    writer = SessionWriter(path)
    writer.write(HEADER)
    writer.write(LevelOpened(t_s=1.0, index=0, users=28, spawn_rate=28.0, by="user"))
    for mark in (GONE, OBSERVED_BY_RUN, knee(28.0)):
        writer.write(mark)
    figures = LevelFigures(settled=True, settled_seconds=6.0, requests=1200, throughput_rps=200.0, goodput_rps=200.0)
    writer.write(LevelClosed(t_s=9.0, index=0, users=28, started_s=1.0, settled_s=3.0, figures=figures))
    writer.write(Ended(t_s=9.0, reason="quit"))
    writer.close()
    return path


def _with_address(mark: Mark) -> Mark:
    if not isinstance(mark.finding, Cause):
        return mark
    return msgspec.structs.replace(mark, finding=msgspec.structs.replace(mark.finding, readings={"destination": "10.1.2.3"}))


def exported(session: Path, form: str, capfd: pytest.CaptureFixture[str], *options: str) -> tuple[str, str]:
    capfd.readouterr()
    assert cli.run(["export", str(session), "--format", form, *options]) == 0
    return capfd.readouterr()


def test_without_reanalyse_the_marks_are_those_recorded(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = json.loads(exported(session, "json", capfd)[0])
    assert [each["users"] for each in document["knees"]] == [28.0]
    assert {each["id"] for each in document["causes"]} == {"ports_exhausted", "user_code_error"}
    assert "reanalysis" not in document


def test_with_reanalyse_the_marks_are_those_found_and_those_that_only_the_run_can_observe(
    session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = session.read_bytes()
    out, err = exported(session, "json", capfd, "--reanalyse")
    document = json.loads(out)
    assert [each["users"] for each in document["knees"]] == [31.0]
    assert [each["id"] for each in document["causes"]] == ["user_code_error"]
    reported = document["reanalysis"]
    assert (reported["recorded"], reported["found"]) == (2, 1)
    assert [(each["kind"], each["key"]) for each in reported["changes"]] == [("changed", "knee:0"), ("gone", "cause:ports")]
    assert reported["changes"][0]["figures"] == [{"name": "users", "recorded": 28.0, "found": 31.0}]
    assert "28 → 31" in err and "ports exhausted" in err
    assert session.read_bytes() == before


@pytest.mark.parametrize("form", ["md", "html"])
def test_reports_state_that_their_marks_are_not_the_recorded_ones(
    session: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    note = "The marks are not the recorded ones"
    assert note not in exported(session, form, capfd)[0]
    out = exported(session, form, capfd, "--reanalyse")[0]
    assert note in out
    assert "28 → 31" in out
    assert "gone: cause: ports exhausted" in out
    assert "<b>cpu" not in out


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_the_same_log_gives_the_same_bytes(session: Path, form: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert exported(session, form, capfd, "--reanalyse") == exported(session, form, capfd, "--reanalyse")


def test_redaction_covers_the_list_of_changes_too(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    events = [_with_address(event) if isinstance(event, Mark) else event for event in read(session)]
    session.write_bytes(b"".join(log_lines(events)))
    out = exported(session, "json", capfd, "--reanalyse", "--redact")[0]
    assert "10.1.2.3" not in out and "gone" in out


def test_compare_uses_the_marks_that_reanalysis_found(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for options, users in (((), 28.0), (("--reanalyse",), 31.0)):
        capfd.readouterr()
        assert cli.run(["compare", str(session), str(session), "--format", "json", *options]) == 0
        assert f"{users}" in capfd.readouterr().out


def test_a_replay_uses_a_temporary_copy_that_is_deleted(session: Path) -> None:
    with reanalysed_copy(session) as copy:
        assert copy.name == session.name and copy != session
        events = list(read(copy))
    assert not copy.exists()
    assert isinstance(events[1], Reanalysed)
    changed, gone = [event.text for event in events if isinstance(event, Log)][1:]
    assert "28 → 31" in changed and "ports exhausted" in gone
    assert {mark.key: mark.users for mark in Timeline(events).marks.values()} == {
        "cause:user_code_error": None,
        "knee:0": 31.0,
    }


def test_reanalyse_and_follow_exclude_each_other(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["replay", str(session), "--reanalyse", "--follow"]) == 2
    assert capfd.readouterr().err.count("\n") == 1
