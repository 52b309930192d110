"""`capexplorer import`: the path on stdout, the same bytes each time, nothing overwritten, one line an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import cli
from capexplorer.session.catalog import list_sessions
from capexplorer.session.reader import open_session

DATA = Path(__file__).resolve().parent.parent / "data"
SOY_A = sorted(str(path) for path in (DATA / "histories").glob("soy-a-*.csv"))[:2]
"""Two levels of one service."""
FAST_FAILURES = str(DATA / "histories" / "fast-failures_stats_history.csv")
CISCO = str(DATA / "tables" / "cisco.csv")


def test_a_session_is_written_to_the_output_path_and_the_path_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "soy.jsonl"
    assert cli.run(["import", *SOY_A, "-o", str(path), "--label", "two holds"]) == 0
    assert capfd.readouterr() == (f"{path}\n", "")
    with open_session(path) as session:
        events = list(session)
        assert session.notes == [] and session.header.label == "two holds"
    assert len(events) > 200


def test_without_an_output_path_the_session_is_saved_and_listed_as_complete(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sessions"
    for files in (SOY_A, [CISCO]):
        assert cli.run(["import", *files, "--sessions-dir", str(folder)]) == 0
    assert set(capfd.readouterr().out.split()) == {str(path) for path in folder.iterdir()}
    found = {entry.target: entry for entry in list_sessions([folder])}
    assert {(name, each.levels, each.complete, each.problem) for name, each in found.items()} == {
        ("soy-a-1", 2, True, None),
        ("cisco", 32, True, None),
    }
    assert all(entry.path.stem == entry.id for entry in found.values())


@pytest.mark.parametrize("files", [SOY_A, [FAST_FAILURES], [CISCO]], ids=["holds", "ramp", "table"])
def test_the_same_files_give_the_same_bytes(tmp_path: Path, files: list[str]) -> None:
    for name in ("a", "b"):
        assert cli.run(["import", *files, "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_existing_file_is_not_overwritten(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("mine", encoding="utf-8")
    assert cli.run(["import", CISCO, "-o", str(path)]) == 2
    assert capfd.readouterr() == ("", f"capexplorer: {path}: exists already; it is not overwritten\n")
    assert path.read_text(encoding="utf-8") == "mine"
    assert cli.run(["import", CISCO, "--sessions-dir", str(tmp_path)]) == 0
    assert cli.run(["import", CISCO, "--sessions-dir", str(tmp_path)]) == 2


def test_a_refused_import_leaves_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("users,throughput_rps\n1,x\n", encoding="utf-8")
    path = tmp_path / "s.jsonl"
    assert cli.run(["import", str(wrong), "-o", str(path)]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert f"{wrong}: line 2: `throughput_rps`" in err
    assert not path.exists()


def test_a_missing_output_folder_is_reported_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["import", CISCO, "-o", str(tmp_path / "none" / "s.jsonl")]) == 4
    assert capfd.readouterr().err.count("\n") == 1
