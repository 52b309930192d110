"""How profiles are found by name: in the folder profiles/ of the working folder, and in the working folder itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import paths


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
