"""How profiles are found by name: in the folder profiles/ of the working folder, and in the working folder itself. Where
sessions are saved and looked up: in the user's data folder, from any working folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from capexplorer import paths
from capexplorer.errors import InputError


def profiles_in(folder: Path) -> dict[str, Path]:
    """The profiles by name, without those outside the folder."""
    return {name: path for name, path in paths.profiles().items() if path.is_relative_to(folder)}


def test_toml_files_of_the_working_folder_are_profiles_if_they_have_a_table_of_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "mine": 'target = "mixed"\n[users]\nstart = 1\n',
        "tasks": '[[users.task]]\nname = "/"\n',
        "dotted": "users.start = 1\n",
        "broken": "title = \n[users\n",
        "pyproject": '[project]\nname = "x"\nusers-of-it = 1\n# [users]\n',
        "other": '[tool.users]\n[usersx]\nx = "users"\n',
    }.items():
        (tmp_path / f"{name}.toml").write_text(text)
    assert sorted(profiles_in(tmp_path)) == ["broken", "dotted", "mine", "tasks"]
    assert paths.profile("mine") == tmp_path / "mine.toml"


def test_the_folder_profiles_has_precedence_over_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profiles").mkdir()
    for path in (tmp_path / "a.toml", tmp_path / "profiles" / "a.toml"):
        path.write_text("[users]\n")
    assert profiles_in(tmp_path) == {"a": tmp_path / "profiles" / "a.toml"}


@pytest.mark.parametrize("in_checkout", [False, True])
def test_sessions_are_saved_in_the_data_folder_from_any_working_folder(
    in_checkout: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sessions").mkdir()
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path if in_checkout else None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "data" / "capexplorer" / "sessions"
    assert paths.new_sessions() == own
    assert paths.sessions() == ((own, tmp_path / "sessions") if in_checkout else (own,))
    assert not own.exists()


def test_a_folder_that_is_named_is_the_only_one(tmp_path: Path) -> None:
    assert (paths.new_sessions(tmp_path), paths.sessions(tmp_path)) == (tmp_path, (tmp_path,))


def test_a_checkout_without_its_folder_of_sessions_has_the_data_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    assert paths.sessions() == (paths.new_sessions(),)


def of_no_home(name: str) -> str:
    raise RuntimeError("could not determine the home directory")


@pytest.mark.parametrize("found", [of_no_home, "~/.local/share/{}".format], ids=["newer platformdirs", "older"])
def test_without_a_home_folder_one_is_asked_for_unless_one_is_named(
    found: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a user without an entry in /etc/passwd, as in a container."""
    monkeypatch.setattr("platformdirs.user_data_dir", found)
    with pytest.raises(InputError, match=r"^no home folder for sessions: set HOME or XDG_DATA_HOME, or "):
        paths.sessions()
    assert paths.sessions(Path("here")) == (Path("here"),)


def test_folders_are_listed_with_a_sign_for_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    assert paths.listed([tmp_path / "ann" / "sessions", tmp_path / "anna"]) == f"~/sessions and {tmp_path}/anna"


def test_no_test_saves_a_session_among_those_of_the_person_who_runs_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert paths.new_sessions().is_relative_to(tmp_path_factory.getbasetemp())
