"""Wrong input: one line on stderr that names the file and what was expected, exit code 2, nothing on stdout, nothing started."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .rig import HERE, PROGRAM, answer, capexplorer, ended

PROFILE = """
title = "Mine"
{target}
[users]
wait_s = {wait}
[[users.task]]
name = "/work"
weight = {weight}
{more}
"""


def refused(folder: Path, *args: str, run: Callable[..., subprocess.CompletedProcess[str]] = answer) -> str:
    """The only line on stderr of a headless run with these arguments, which must be refused; `run` starts the command."""
    sessions = folder / "sessions"
    done = run("run", *args, "--headless", "--plan", "1:1s", "--sessions-dir", str(sessions))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("capexplorer: "), done.stderr
    assert not sessions.exists() or not list(sessions.iterdir())
    return lines[0]


def profile(folder: Path, **parts: str) -> str:
    path = folder / "mine.toml"
    usual = {"target": 'target = "actor"', "wait": "0.1", "weight": "1", "more": ""}
    path.write_text(PROFILE.format(**(usual | parts)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        ({"more": "wieght = 2"}, "unknown key `users.task[0].wieght`; did you mean `weight`?"),
        ({"more": "[guard]\nmax_users = 3"}, "unknown key `guard`; did you mean `guards`?"),
        ({"weight": '"much"'}, "users.task[0].weight: expected `int`, got `str`"),
        ({"weight": "0"}, "users.task: expected a weight above 0 on at least one task"),
        ({"wait": "{ between = [2, 1] }"}, "users.wait_s.between: expected [least, most]"),
        ({"target": "url = 'http://localhost:http'"}, "url: expected http://HOST[:PORT]"),
        ({"more": "[users"}, "not valid TOML:"),
    ],
    ids=["unknown key", "unknown table", "wrong type", "zero weights", "wait", "url", "invalid TOML"],
)
def test_a_wrong_value_or_key_in_a_profile_is_refused_with_its_place(
    tmp_path: Path, wrong: dict[str, str], reported: str
) -> None:
    path = profile(tmp_path, **wrong)
    assert f"{path}: {reported}" in refused(tmp_path, path)


def test_an_unknown_profile_is_refused_and_the_nearest_name_is_proposed(tmp_path: Path) -> None:
    assert "no profile `mixd`; did you mean `mixed`?" in refused(tmp_path, "mixd")
    assert "nowhere.toml: no such profile" in refused(tmp_path, "./nowhere.toml")


def test_an_unknown_target_of_a_profile_is_refused_and_the_nearest_name_is_proposed(tmp_path: Path) -> None:
    path = profile(tmp_path, target='target = "acter"')
    assert f"{path}: target: no target `acter`; did you mean `actor`?" in refused(tmp_path, path)


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (("--set", "act=sings"), "--set: act: expected one of serves, "),
        (("--set", "akt=serves"), "did you mean `act`?"),
        (("--set", "act"), "--set: expected KEY=VALUE, got 'act'"),
        (("--limit", f"target.open_files={'9' * 5000}"), "--limit: expected KEY=VALUE such as"),
        (("--spawn-rate", "1e300"), "--spawn-rate: expected 0.001 to 100000 users a second, got 1e+300"),
        (("--users", "201"), "--users: expected at most guards.max_users (200), got 201"),
        (("--host", "ftp://localhost"), "--host: expected http://HOST[:PORT]"),
        (("--host", "http://localhost:http"), "--host: expected http://HOST[:PORT]"),
        (("--host", "http://localhost:70000"), "--host: expected http://HOST[:PORT]"),
        (("--host", "http://192.0.2.1"), "load to 192.0.2.1 is not allowed: only loopback, or add --allow-host 192.0.2.1"),
        (("--host", "http://example.com:8080"), "load to example.com is not allowed"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_a_wrong_value_of_an_option_is_refused_with_what_was_expected(
    tmp_path: Path, args: tuple[str, ...], reported: str
) -> None:
    assert reported in refused(tmp_path, "actor", *args)


@pytest.mark.parametrize(
    ("code", "reported"),
    [
        ("import sys\nsys.exit('no')\n", ":2: SystemExit on import: no"),
        ("raise ValueError('\\x1b[2J\\x1b[31m[bold]red')\n", "\\x1b[2J\\x1b[31m[bold]red"),
    ],
    ids=["exit", "escapes"],
)
def test_a_locustfile_that_fails_on_import_is_refused_with_its_exception(tmp_path: Path, code: str, reported: str) -> None:
    """`tests/load/test_users.py` has further exceptions."""
    path = tmp_path / "broken.py"
    path.write_text(code, encoding="utf-8")
    line = refused(tmp_path, "actor", "-f", str(path), run=capexplorer)
    assert str(path) in line and reported in line


def test_a_missing_locustfile_is_refused(tmp_path: Path) -> None:
    assert "nowhere.py: no such locustfile" in refused(tmp_path, "actor", "-f", "nowhere.py", run=capexplorer)


def test_a_locustfile_whose_users_have_no_host_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "hostless.py"
    path.write_text("from locust import HttpUser, task\nclass A(HttpUser):\n    @task\n    def t(self): pass\n", encoding="utf-8")
    assert "A has no host; give --host URL or a profile with a target" in refused(tmp_path, "-f", str(path), run=capexplorer)


def test_without_a_terminal_the_screen_is_refused(tmp_path: Path) -> None:
    run, code = ended(tmp_path, "actor")
    assert code == 2
    assert run.stderr == (
        "capexplorer: the live screen needs a terminal on stdin and stderr; "
        "otherwise use `run --headless --plan ... or run --detach`\n"
    )


@pytest.mark.parametrize("args", [["run", "--nonsense"], ["rum"], ["run", "--users", "many"]], ids=str)
def test_an_unknown_option_command_or_type_exits_with_2_and_no_traceback(args: list[str]) -> None:
    done = subprocess.run([PROGRAM, *args], cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "Error:" in done.stderr
