"""`capexplorer replay` as a command: input that it refuses, its speeds, and modules that it must not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from capexplorer import cli
from capexplorer.commands.replay import _SPEEDS
from capexplorer.tui.feed import SPEEDS

from .logs import two_levels, write_log


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01", b"not a log\n", b'{"type":"header","schema":99,"t_s":0}\n', b'{"type":"sam']
)
def test_a_file_that_is_not_a_session_is_refused_in_one_line(
    content: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    assert cli.run(["replay", str(path)]) == 2
    errors = capfd.readouterr().err
    assert errors.count("\n") == 1
    assert str(path) in errors


@pytest.mark.parametrize("arguments", [["last"], ["nothing"], ["/nowhere.jsonl"]])
def test_a_session_that_does_not_exist_is_refused_in_one_line(
    arguments: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["replay", *arguments, "--sessions-dir", str(tmp_path)]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_replay_without_a_terminal_is_refused_and_names_export(tmp_path: Path) -> None:
    path = write_log(tmp_path / "session.jsonl", two_levels())
    completed = subprocess.run(
        [sys.executable, "-m", "capexplorer", "replay", str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert completed.returncode == 2
    assert completed.stdout == ""
    assert completed.stderr.count("\n") == 1
    assert "needs a terminal" in completed.stderr
    assert "export" in completed.stderr


def test_an_invalid_time_is_refused_before_the_screen_opens(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["replay", "last", "--at", "noon"]) == 2
    assert "--at noon: expected a time such as 1:23:45" in capfd.readouterr().err


def test_the_option_speed_accepts_the_speeds_of_the_playback_and_no_other() -> None:
    assert tuple(map(float, _SPEEDS)) == SPEEDS
    assert CliRunner().invoke(cli.group, ["replay", "last", "--speed", "3"]).exit_code == 2


def test_replay_loads_neither_locust_nor_gevent() -> None:
    imported = ("commands.replay", "tui.actions.transport", "tui.app", "tui.feed", "tui.terminal")
    script = f"import sys, {', '.join(f'capexplorer.{name}' for name in imported)}; print(*sys.modules)"
    completed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert not {"locust", "gevent", "flask", "requests", "altair"} & set(completed.stdout.split())
