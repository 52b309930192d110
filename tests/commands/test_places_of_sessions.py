"""Sessions in the user's data folder, and in the sessions/ of the checkout in which earlier versions saved them: commands find
both, and say where they look."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from capexplorer import cli, configuration, paths
from capexplorer.commands.afterwards import session_name
from capexplorer.commands.pick import SessionFolders
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.commands.stop import run_of
from capexplorer.errors import InputError
from capexplorer.remote import run_sockets
from capexplorer.session import files

EARLIER, NEW = "20260101-120000-kv-0a1b", "20260102-120000-kv-77ff"
SAMPLES = paths.sample_sessions()
TABLE = "users,throughput_rps\n1,10\n2,20\n"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """(the data folder's sessions, with one; the checkout's, with another). The working folder is a third one."""
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path / "checkout")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    new, earlier = tmp_path / "data" / "capexplorer" / "sessions", tmp_path / "checkout" / "sessions"
    for folder, name in ((new, NEW), (earlier, EARLIER)):
        folder.mkdir(parents=True)
        shutil.copy(SAMPLES["sample-kv"], folder / f"{name}.jsonl")
    return new, earlier


def test_sessions_of_both_are_listed_with_the_places(places: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sessions"]) == 0
    out, err = capsys.readouterr()
    assert NEW in out and EARLIER in out
    assert err == f"sessions in {places[0]} and {places[1]}\n"
    assert cli.run(["sessions", "--json"]) == 0
    out, err = capsys.readouterr()
    assert {Path(row["path"]).parent for row in json.loads(out)} == set(places)
    assert err == ""


def test_where_there_is_no_session_it_says_where_it_looked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--sessions-dir", str(tmp_path), "sessions"]) == 0
    assert capsys.readouterr().err.startswith(f"no sessions in {tmp_path}; `capexplorer replay sample`")


@pytest.mark.parametrize("name", [EARLIER, "0a1b", f"{EARLIER}.jsonl", "THE MOVE"])
def test_an_earlier_session_is_found_by_its_name(
    name: str, places: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    files.write_title(places[1] / f"{EARLIER}.jsonl", "before the move")
    assert cli.run(["export", name]) == 0
    capsysbinary.readouterr()
    assert cli.run(["compare", name, NEW, "--format", "json"]) == 0
    assert len(json.loads(capsysbinary.readouterr().out)["sessions"]) == 2
    assert session_name(places[1] / f"{EARLIER}.jsonl") == EARLIER


def test_an_earlier_session_is_renamed_and_deleted_where_it_is(places: tuple[Path, Path]) -> None:
    assert cli.run(["sessions", "rename", EARLIER, "old"]) == 0
    assert files.read_title(places[1] / f"{EARLIER}.jsonl") == "old"
    assert cli.run(["sessions", "rm", "--yes", "old"]) == 0
    assert [len(list(folder.glob("*.jsonl"))) for folder in places] == [1, 0]


def test_both_are_completed(places: tuple[Path, Path]) -> None:
    found = ShellComplete(cli.group, {}, "capexplorer", "_CAPEXPLORER_COMPLETE").get_completions(["replay"], "2026")
    assert [each.value for each in found] == [NEW, EARLIER]


def test_the_picker_has_both_and_knows_those_of_the_folders_profiles(places: tuple[Path, Path]) -> None:
    shutil.copy(SAMPLES["sample-taskqueue"], places[0] / "20260103-shop.jsonl")
    found = SessionFolders(paths.sessions(), {"kv-fast"})
    of_own_profile = {row.entry.id: row.of_own_profile for row in found.rows()}
    assert of_own_profile == {NEW: True, EARLIER: True, "20260103-shop": False}
    assert found.where == f"{places[0]} and {places[1]}"


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Both sessions are runs that go on."""
    monkeypatch.setattr(run_sockets, "running", lambda: {name: tmp_path / name for name in (NEW, EARLIER)})
    yield


def test_a_run_is_found_by_the_title_that_it_has_in_either(places: tuple[Path, Path], running: None) -> None:
    files.write_title(places[1] / f"{EARLIER}.jsonl", "before the move")
    assert run_of("move", None)[0] == EARLIER
    assert run_of(None, places[0])[0] == NEW
    with pytest.raises(InputError, match="not running"):
        run_of(EARLIER, places[0])


def test_runs_that_are_all_saved_elsewhere_are_named(tmp_path: Path, running: None) -> None:
    with pytest.raises(InputError, match=f"no run that is saved in {tmp_path} .*; elsewhere are {EARLIER}, {NEW}$"):
        run_of(None, tmp_path)


def test_a_run_is_found_by_its_title_in_the_folder_of_the_configuration_file(
    tmp_path: Path, running: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.toml").write_text(f'sessions_dir = "{tmp_path}"')
    monkeypatch.setenv(configuration.VARIABLE, str(tmp_path / "own.toml"))
    shutil.copy(SAMPLES["sample-kv"], tmp_path / f"{NEW}.jsonl")
    files.write_title(tmp_path / f"{NEW}.jsonl", "after the move")
    assert run_of("after", None)[0] == NEW


def test_a_run_is_found_by_its_id_where_no_folder_of_sessions_can_be_read(
    tmp_path: Path, running: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "capexplorer").write_text("a file")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert run_of(NEW, None)[0] == NEW


def test_a_run_is_saved_in_the_data_folder(places: tuple[Path, Path]) -> None:
    assert resolve(RunArguments(profile="http://127.0.0.1:9/items", users=1)).sessions_dir == places[0]


def test_an_import_is_saved_in_the_data_folder_private_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "table.csv").write_text(TABLE)
    assert cli.run(["import", str(tmp_path / "table.csv")]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == tmp_path / "data" / "capexplorer" / "sessions"
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_data_folder_that_cannot_be_made_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_text("a file")
    (tmp_path / "table.csv").write_text(TABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert cli.run(["import", str(tmp_path / "table.csv")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"capexplorer: {tmp_path}/data/capexplorer/sessions: ") and err.count("\n") == 1
    assert cli.run(["export", "last"]) == 2
