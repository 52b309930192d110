"""Invalid input to `run` is refusal: exit code 2, one line on stderr with the file and what was expected, nothing started."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .rig import E2E_FOLDER, PROGRAM, run_command, run_in_process, run_to_end

PROFILE_TEMPLATE = """
title = "Mine"
{target}
[users]
wait_s = {wait}
[[users.task]]
name = "/work"
weight = {weight}
{more}
"""


def refusal(folder: Path, *args: str, run_by: Callable[..., subprocess.CompletedProcess[str]] = run_in_process) -> str:
    """The only line on stderr of a headless run that must be refused.

    `run_by`: `run_command` for refusals that need Locust, which must not be imported into this process.
    """
    sessions = folder / "sessions"
    done = run_by("run", *args, "--headless", "--plan", "1:1s", "--sessions-dir", str(sessions))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("capexplorer: ")
    assert not sessions.exists() or not list(sessions.iterdir()), "a session was started"
    return done.stderr.strip()


def write_profile(folder: Path, **replaced: str) -> str:
    """A valid profile but for the replaced parts of the template; gives its path."""
    path = folder / "mine.toml"
    valid = {"target": 'target = "actor"', "wait": "0.1", "weight": "1", "more": ""}
    path.write_text(PROFILE_TEMPLATE.format(**(valid | replaced)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("invalid", "message"),
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
def test_an_invalid_profile_is_refused_with_the_path_of_the_invalid_key(
    tmp_path: Path, invalid: dict[str, str], message: str
) -> None:
    path = write_profile(tmp_path, **invalid)
    assert f"{path}: {message}" in refusal(tmp_path, path)


def test_an_unknown_profile_is_refused_and_the_nearest_name_is_proposed(tmp_path: Path) -> None:
    assert "no profile `mixd`; did you mean `mixed`?" in refusal(tmp_path, "mixd")
    assert "nowhere.toml: no such profile" in refusal(tmp_path, "./nowhere.toml")


def test_an_unknown_target_of_a_profile_is_refused_and_the_nearest_name_is_proposed(tmp_path: Path) -> None:
    path = write_profile(tmp_path, target='target = "acter"')
    assert f"{path}: target: no target `acter`; did you mean `actor`?" in refusal(tmp_path, path)


@pytest.mark.parametrize(
    ("args", "message"),
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
def test_an_invalid_value_of_an_option_is_refused_with_what_was_expected(
    tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    assert message in refusal(tmp_path, "actor", *args)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys\nsys.exit('no')\n", ":2: SystemExit on import: no"),
        ("raise ValueError('\\x1b[2J\\x1b[31m[bold]red')\n", "\\x1b[2J\\x1b[31m[bold]red"),
    ],
    ids=["exit", "escapes"],
)
def test_a_locustfile_that_fails_on_import_is_refused_with_its_exception(tmp_path: Path, code: str, message: str) -> None:
    """Further exceptions: tests/load/test_users.py."""
    path = tmp_path / "broken.py"
    path.write_text(code, encoding="utf-8")
    line = refusal(tmp_path, "actor", "-f", str(path), run_by=run_command)
    assert str(path) in line
    assert message in line


def test_a_missing_locustfile_is_refused(tmp_path: Path) -> None:
    assert "nowhere.py: no such locustfile" in refusal(tmp_path, "actor", "-f", "nowhere.py", run_by=run_command)


def test_a_locustfile_without_a_host_is_refused_with_the_options_that_give_one(tmp_path: Path) -> None:
    path = tmp_path / "hostless.py"
    path.write_text("from locust import HttpUser, task\nclass A(HttpUser):\n    @task\n    def t(self): pass\n", encoding="utf-8")
    assert "A has no host; give --host URL or a profile with a target" in refusal(tmp_path, "-f", str(path), run_by=run_command)


def test_the_live_screen_is_refused_without_a_terminal(tmp_path: Path) -> None:
    run, code = run_to_end(tmp_path, "actor")
    assert code == 2
    assert run.stderr == (
        "capexplorer: the live screen needs a terminal on stdin and stderr; "
        "otherwise use `run --headless --plan ... or run --detach`\n"
    )


@pytest.mark.parametrize("args", [["run", "--nonsense"], ["rum"], ["run", "--users", "many"]], ids=str)
def test_an_unknown_option_command_or_type_exits_with_2_and_no_traceback(args: list[str]) -> None:
    done = subprocess.run([PROGRAM, *args], cwd=E2E_FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "Error:" in done.stderr
