"""Profiles of the working folder: in profiles/, and files beside it that describe users."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import paths


def names(folder: Path) -> dict[str, Path]:
    return {name: path for name, path in paths.profiles().items() if path.is_relative_to(folder)}


def test_a_profile_in_the_working_folder_is_found_and_other_toml_files_are_not(
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
    assert sorted(names(tmp_path)) == ["broken", "dotted", "mine", "tasks"]
    assert paths.profile("mine") == tmp_path / "mine.toml"


def test_the_folder_profiles_comes_before_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profiles").mkdir()
    for path in (tmp_path / "a.toml", tmp_path / "profiles" / "a.toml"):
        path.write_text("[users]\n")
    assert names(tmp_path) == {"a": tmp_path / "profiles" / "a.toml"}
