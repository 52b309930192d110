"""Where runs listen: a folder that nobody else can enter, and which run a name means."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.errors import InputError
from capexplorer.remote import run_sockets


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        monkeypatch.setattr(run_sockets, "folders", lambda: [Path(name) / "capexplorer"])
        yield Path(name) / "capexplorer"


def listening(folder: Path, session: str) -> socket.socket:
    run_sockets.make_folder(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / f"{session}.sock"))
    listener.listen()
    return listener


def test_the_runtime_folder_comes_first_and_there_is_always_another() -> None:
    *_, last = run_sockets.folders()
    assert last == Path(f"/tmp/capexplorer-{os.geteuid()}")


def test_the_folder_is_private_with_any_umask(runtime: Path) -> None:
    before = os.umask(0)
    try:
        assert run_sockets.make_folder(runtime)
    finally:
        os.umask(before)
    assert runtime.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_enter_is_not_used(runtime: Path) -> None:
    runtime.mkdir(0o755)
    assert not run_sockets.make_folder(runtime)


def test_a_link_to_a_folder_is_not_used(runtime: Path) -> None:
    (runtime.parent / "elsewhere").mkdir(0o700)
    runtime.symlink_to(runtime.parent / "elsewhere")
    assert not run_sockets.make_folder(runtime)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")
def test_a_folder_of_another_user_is_not_used(runtime: Path) -> None:
    runtime.mkdir(0o700)
    os.chown(runtime, 12_345, -1)
    assert not run_sockets.make_folder(runtime)


def test_a_run_is_found_by_its_id_by_its_beginning_and_without_a_name(runtime: Path) -> None:
    with listening(runtime, "20260101-mixed-aa"):
        path = runtime / "20260101-mixed-aa.sock"
        for name in ("20260101-mixed-aa", "2026", "last", "sessions/20260101-mixed-aa.jsonl", None):
            assert run_sockets.find(name) == ("20260101-mixed-aa", path)


def test_the_socket_of_a_killed_run_is_removed(runtime: Path) -> None:
    listening(runtime, "dead").close()
    assert (runtime / "dead.sock").exists()
    assert run_sockets.running() == {}
    assert not (runtime / "dead.sock").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (None, "2 runs are going on; name one: a-1, a-2"),
        ("a", "session `a` is not unique: a-1, a-2"),
        ("b", "session `b` is not running; these are: a-1, a-2"),
    ],
)
def test_a_name_that_means_no_run_or_several_is_one_line(runtime: Path, name: str | None, message: str) -> None:
    with listening(runtime, "a-1"), listening(runtime, "a-2"), pytest.raises(InputError) as refused:
        run_sockets.find(name)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [(None, "no run of this user is going on"), ("a", "session `a` is not running: this user has no run now")],
)
def test_a_name_without_a_running_session_is_refused_with_a_message(runtime: Path, name: str | None, message: str) -> None:
    with pytest.raises(InputError) as refused:
        run_sockets.find(name)
    assert str(refused.value) == message
