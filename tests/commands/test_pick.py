"""The command that a choice in the picker runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capexplorer.commands.pick import _profiles, arguments_for, selected
from capexplorer.commands.run.profile import DEFAULT_PROFILE
from capexplorer.model.sources import SessionEntry
from capexplorer.remote import run_sockets
from capexplorer.tui.screens.sessions import ProfileEntry


def entry(name: str, *, complete: bool = False) -> SessionEntry:
    return SessionEntry(id=name, path=Path(f"/sessions/{name}.jsonl"), size_bytes=1, complete=complete)


@pytest.fixture(autouse=True)
def one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_sockets, "running", lambda: {"running": Path("/tmp/running.sock")})


def test_a_profile_is_run() -> None:
    assert arguments_for(ProfileEntry(name="mixed", path="/p/mixed.toml"), None) == ["run", "/p/mixed.toml"]


def test_a_running_session_is_attached_to() -> None:
    assert arguments_for(entry("running"), Path("/sessions")) == ["attach", "running"]


@pytest.mark.parametrize("saved", [entry("ended", complete=True), entry("cut")], ids=["ended", "cut"])
def test_a_saved_session_is_replayed(saved: SessionEntry) -> None:
    assert arguments_for(saved, Path("/s")) == ["replay", f"/sessions/{saved.id}.jsonl", "--sessions-dir", "/s"]


def profile_file(folder: Path, name: str, changed_s: float, *, sample: bool = False) -> ProfileEntry:
    path = folder / f"{name}.toml"
    path.touch()
    os.utime(path, (changed_s, changed_s))
    return ProfileEntry(name=name, path=str(path), sample=sample)


def test_the_profile_of_the_folder_that_was_changed_last_is_selected(tmp_path: Path) -> None:
    sample = profile_file(tmp_path, "kv", 900.0, sample=True)
    own = [profile_file(tmp_path, "api", 100.0), profile_file(tmp_path, "shop", 200.0), profile_file(tmp_path, "web", 150.0)]
    assert selected([*own, sample]) == "shop"
    assert selected([sample]) == DEFAULT_PROFILE


def test_profiles_of_the_working_folder_come_before_those_that_come_with_capexplorer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zz-own.toml").write_text("[users]")
    monkeypatch.chdir(tmp_path)
    listed = _profiles()
    assert [each.name for each in listed if not each.sample] == ["zz-own"] == [listed[0].name]
    assert "mixed" in [each.name for each in listed if each.sample]
