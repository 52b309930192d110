"""Where a target runs: a free port out of reach of clients' ephemeral ports, and a scratch folder that nothing outlives."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from capexplorer.errors import TargetError
from capexplorer.target import place
from capexplorer.target.place import ephemeral_range, free_port, port_is_free
from docs import sample


def test_a_free_port_can_be_bound_and_is_not_ephemeral() -> None:
    low, high = ephemeral_range()
    port = free_port()
    assert not low <= port <= high
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_a_port_that_is_bound_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert not port_is_free(port)
    assert port_is_free(port)


def test_the_scratch_folder_is_kept_while_the_session_runs_and_removed_with_its_content(tmp_path: Path) -> None:
    folder = place.scratch_folder(tmp_path)
    place.make_scratch(folder)
    (folder / "tasks").mkdir()
    (folder / "tasks" / "1.json").write_text("{}")
    place.make_scratch(folder)  # the target restarts
    assert (folder / "tasks" / "1.json").exists()
    place.remove_scratch(folder)
    assert list(tmp_path.iterdir()) == []


def test_runs_with_one_process_id_in_several_containers_have_folders_of_their_own(tmp_path: Path) -> None:
    assert place.scratch_folder(tmp_path) != place.scratch_folder(tmp_path)


def test_samples_have_no_part_of_its_path(tmp_path: Path) -> None:
    assert sample.SCRATCH.sub("{scratch}", f"--folder={place.scratch_folder(tmp_path)}/tasks") == "--folder={scratch}/tasks"


@pytest.mark.parametrize("is_reaped", [True, False])
def test_a_folder_that_a_crash_left_is_removed_and_one_of_a_running_process_is_not(tmp_path: Path, is_reaped: bool) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | (0 if is_reaped else os.WNOWAIT))
    ours = place.namespace_of_ids()
    names = (f"{ours}-{ended.pid}", f"{ours}-{os.getppid()}", f"{ours + 1}-{ended.pid}")
    left, running, in_another_container = (tmp_path / f".scratch-{name}-1a2b" for name in names)
    for folder in (left, running, in_another_container):
        folder.mkdir()
        (folder / "file").write_text("x")
    place.make_scratch(place.scratch_folder(tmp_path))
    assert not left.exists() and (running / "file").exists() and (in_another_container / "file").exists()
    ended.wait()


def test_a_scratch_folder_that_cannot_be_made_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError) as caught:
        place.make_scratch(place.scratch_folder(tmp_path / "file"))
    assert "the target needs a folder to write in" in str(caught.value)


def test_the_scratch_folder_is_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        made = place.scratch_folder(tmp_path / "sessions")
        place.make_scratch(made)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (made.parent, made)] == [0o700, 0o700]
