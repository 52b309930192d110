"""The command that a choice in the picker runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.commands.pick import arguments_for
from capexplorer.model.session_entry import SessionEntry
from capexplorer.remote import run_sockets
from capexplorer.tui.screens.profiles import ProfileEntry


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
