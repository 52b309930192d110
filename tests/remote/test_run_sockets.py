"""The sockets on which runs listen for screens: their folder is private to the user, and a session's name finds its socket."""

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
def socket_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for sockets, which is not there yet. Its path is short: that of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        monkeypatch.setattr(run_sockets, "folders", lambda: [Path(name) / "capexplorer"])
        yield Path(name) / "capexplorer"


def listen_as_run(folder: Path, session: str) -> socket.socket:
    """The listen_as_run socket of a run of this session."""
    run_sockets.make_folder(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / f"{session}.sock"))
    listener.listen()
    return listener


def test_the_last_choice_of_a_folder_is_in_tmp() -> None:
    *_, last = run_sockets.folders()
    assert last == Path(f"/tmp/capexplorer-{os.geteuid()}")


def test_the_folder_is_made_private_under_a_umask_of_0(socket_folder: Path) -> None:
    umask = os.umask(0)
    try:
        assert run_sockets.make_folder(socket_folder)
    finally:
        os.umask(umask)
    assert socket_folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_enter_and_a_symbolic_link_are_not_used(socket_folder: Path) -> None:
    socket_folder.mkdir(0o755)
    assert not run_sockets.make_folder(socket_folder)
    socket_folder.rmdir()
    (socket_folder.parent / "elsewhere").mkdir(0o700)
    socket_folder.symlink_to(socket_folder.parent / "elsewhere")
    assert not run_sockets.make_folder(socket_folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")
def test_a_folder_of_another_user_is_not_used(socket_folder: Path) -> None:
    socket_folder.mkdir(0o700)
    os.chown(socket_folder, 12_345, -1)
    assert not run_sockets.make_folder(socket_folder)


@pytest.mark.parametrize("name", ["20260101-mixed-aa", "2026", "MIXED", "-aa", "last", "sessions/20260101-mixed-aa.jsonl", None])
def test_the_only_run_is_found_by_session_prefix_last_log_path_or_no_name(socket_folder: Path, name: str | None) -> None:
    with listen_as_run(socket_folder, "20260101-mixed-aa"):
        assert run_sockets.find(name, run_sockets.running(), {}) == (
            "20260101-mixed-aa",
            socket_folder / "20260101-mixed-aa.sock",
        )


def test_the_socket_of_a_killed_run_is_removed(socket_folder: Path) -> None:
    listen_as_run(socket_folder, "dead").close()
    assert (socket_folder / "dead.sock").exists()
    assert run_sockets.running() == {}
    assert not (socket_folder / "dead.sock").exists()


@pytest.mark.parametrize(
    ("runs", "name", "message"),
    [
        (["a-1", "a-2"], None, "2 runs are going on; name one: a-1, a-2"),
        (["a-1", "a-2"], "a", "session `a` is not unique: a-1, a-2"),
        (["a-1", "a-2"], "b", "session `b` is not running; these are: a-1, a-2"),
        ([], None, "no run is going on: there is no socket of a run in /run/user/0/capexplorer or /tmp/capexplorer-0"),
        ([], "a", "session `a` is not running: there is no socket of a run in /run/user/0/capexplorer or /tmp/capexplorer-0"),
    ],
)
def test_a_name_of_no_run_or_of_several_is_refused(
    runs: list[str], name: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [Path("/run/user/0/capexplorer"), Path("/tmp/capexplorer-0")]
    monkeypatch.setattr(run_sockets, "folders", lambda: folders)
    with pytest.raises(InputError) as refused:
        run_sockets.find(name, {each: Path(f"{each}.sock") for each in runs}, {"a-1": "first"})
    assert str(refused.value) == message


def test_a_run_is_found_by_a_part_of_its_title() -> None:
    runs, titles = {"a-1": Path("1"), "a-2": Path("2")}, {"a-1": "Before the fix", "a-2": None}
    assert run_sockets.find("before", runs, titles) == ("a-1", Path("1"))
