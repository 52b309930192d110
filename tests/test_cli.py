"""The command line: exit codes, one line on stderr, and never a traceback for what a user typed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from session.samples import HEADER, ONE_OF_EACH

from capexplorer import cli, paths
from capexplorer.session.reader import open_session
from capexplorer.session.writer import SessionWriter

URL = ["--host", "http://127.0.0.1:9"]
PROFILES = Path(__file__).parent / "data" / "profiles"
PLAN = ["--headless", "--plan", "1:1s", "--sessions-dir", "HERE"]

REFUSED = {
    "unknown command": (["exprot"], "no command `exprot`; did you mean `export`?"),
    "unknown option": (["sessions", "--jsn"], "No such option"),
    "unknown profile": (["run", "mixd", *PLAN], "no profile `mixd`; did you mean `mixed`?"),
    "profile file that is not there": (["run", "./gone.toml", *PLAN], "gone.toml: no such profile"),
    "session that is not there": (["export", "gone", "--sessions-dir", "HERE"], "gone"),
    "no session at all": (["export", "last", "--sessions-dir", "HERE"], "no session"),
    "format unknown": (["export", "last", "--format", "pdf"], "'pdf' is not"),
    "profile without a service": (
        ["run", str(PROFILES / "no-service.toml"), *PLAN],
        "no-service.toml: expected `command`, `url` or `target`, or --target-cmd COMMAND, --compose FILE or --host URL beside"
        " the profile",
    ),
    "command of a profile without a port": (
        ["run", str(PROFILES / "no-port.toml"), *PLAN],
        "no-port.toml: command: expected {port} in the command, or ready URL with the port that it listens on",
    ),
    "command of a profile that is none": (
        ["run", str(PROFILES / "open-quote.toml"), *PLAN],
        "open-quote.toml: command: no closing quotation in",
    ),
    "environment variable that is not set": (
        ["run", str(PROFILES / "variable.toml"), *PLAN],
        "variable.toml: users.task[0].headers.Authorization: expected the environment variable CAPEXPLORER_TEST_TOKEN, which is"
        " not set",
    ),
    "compose file that is not there": (["run", "--compose", "gone.yaml", *PLAN], "--compose: no such file: "),
    "compose file and host": (["run", *URL, "--compose", "x", *PLAN], "--compose: cannot be combined with --host"),
    "compose file and command": (
        ["run", "--target-cmd", "x {port}", "--compose", "x", *PLAN],
        "--compose: cannot be combined with --target-cmd",
    ),
    "init with two services": (["init", *URL, "--target-cmd", "x"], "--target-cmd: cannot be combined with --host"),
    "init with a path of no service": (["init", "--ready", "/"], "--ready: needs --target-cmd"),
    "init with two sorts of users": (["init", "--request", "/", "-f", "x.py"], "--request: cannot be combined with --locustfile"),
    "init with a locustfile that is not there": (["init", *URL, "-f", "gone.py"], "gone.py: no such locustfile"),
    "init without a terminal": (["init", "--request", "/"], "there is no terminal to ask on: expected --target-cmd"),
    "init into another kind of file": (
        ["init", *URL, "--request", "/", "-o", "x.yaml"],
        "-o: expected a name that ends with .toml",
    ),
    "init into no folder": (["init", *URL, "--request", "/", "-o", "gone/x.toml"], "-o: gone: no such folder"),
    "init over a file": (
        ["init", *URL, "--request", "/", "-o", str(PROFILES / "variable.toml")],
        "variable.toml exists already; another name, or --force to overwrite it",
    ),
    "init for a host elsewhere": (
        ["init", "--host", "http://192.0.2.1", "--request", "/"],
        "--host: load to 192.0.2.1 is not allowed: only loopback, or add --allow-host 192.0.2.1",
    ),
    "init with a password in the URL": (
        ["init", "--host", "http://me:hunter2@127.0.0.1", "--request", "/"],
        "--host: expected a URL without a password",
    ),
    "plan without a colon": (["run", "mixed", "--headless", "--plan", "huge"], "--plan: no plan `huge` in the profile"),
    "plan of nonsense": (["run", "mixed", "--headless", "--plan", "5:xs"], "--plan: expected USERS:DURATION like 10:30s"),
    "plan beyond the guard": (["run", "mixed", "--headless", "--plan", "99999:1s"], "99999 users exceed guards.max_users"),
    "headless without a plan": (["run", "mixed", "--headless"], "--headless: needs --plan"),
    "users beyond the guard": (["run", "mixed", "--users", "99999", *PLAN], "--users: expected at most guards.max_users"),
    "negative users": (["run", "mixed", "--users", "-1", *PLAN], "-1 is not in the range"),
    "5,000 digits of a parameter": (
        ["run", "mixed", "--set", f"threads={'9' * 5000}", *PLAN],
        "--set: threads: expected an integer",
    ),
    "spawn rate of zero": (
        ["run", "mixed", "--spawn-rate", "0", *PLAN],
        "--spawn-rate: expected 0.001 to 100000 users a second, got 0",
    ),
    "spawn rate that is no number": (["run", "mixed", "--spawn-rate", "nan", *PLAN], "--spawn-rate"),
    "setting without a value": (["run", "mixed", "--set", "threads", *PLAN], "--set: expected KEY=VALUE, got 'threads'"),
    "setting of no parameter": (["run", "mixed", "--set", "thraeds=1", *PLAN], "did you mean `threads`?"),
    "setting of no target": (["run", "mixed", *URL, "--set", "threads=1", *PLAN], "--set: needs a target"),
    "host without a scheme": (["run", "mixed", "--host", "localhost:80", *PLAN], "--host: expected http://HOST[:PORT]"),
    "host that is none": (["run", "mixed", "--host", "http://[::1", *PLAN], "--host: expected http://HOST[:PORT]"),
    "host with a port beyond all": (["run", "mixed", "--host", "http://127.0.0.1:99999", *PLAN], "--host: expected http://HOST"),
    "host that is not loopback": (["run", "mixed", "--host", "http://192.0.2.1", *PLAN], "add --allow-host 192.0.2.1"),
    "no terminal": (["run", "mixed"], "the live screen needs a terminal"),
}


@pytest.mark.parametrize(("args", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_input_is_reported_and_exits_with_2(
    args: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([str(tmp_path) if arg == "HERE" else arg for arg in args]) == 2
    out, err = capsys.readouterr()
    assert message in " ".join(err.split())
    assert out == ""
    assert "Traceback" not in err


def test_an_allowed_host_is_allowed_however_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["run", "mixed", "--host", "http://Service.Example", "--allow-host", "SERVICE.example", "--headless"]
    assert cli.run(args) == 2  # for want of a plan, not for the host
    assert "--headless: needs --plan" in capsys.readouterr().err


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    writer = SessionWriter(tmp_path / f"{HEADER.id}.jsonl")
    for event in ONE_OF_EACH:
        writer.write(event)
    writer.close()
    return tmp_path


def test_the_version_names_what_a_report_of_a_problem_should_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("capexplorer ")
    assert [name for name in ("Python ", "locust ", "gevent ", "textual ", "platform ") if name not in words] == []


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_own_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([name, "--help"]) == 0
    assert f"Usage: capexplorer {name}" in capsys.readouterr().out


def test_lists_are_json_when_asked(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["profiles", "--json"], ["targets", "--json"], ["sessions", "--json", "--sessions-dir", str(sessions)]):
        assert cli.run(args) == 0
        rows = json.loads(capsys.readouterr().out)
        assert rows and all(isinstance(row, dict) for row in rows)


def test_sessions_are_listed_with_what_they_are_of(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sessions", "--sessions-dir", str(sessions)]) == 0
    reported = capsys.readouterr().out
    assert HEADER.id in reported and "mixed" in reported


@pytest.mark.parametrize("name", ["last", HEADER.id, HEADER.id[:12], "PATH"])
def test_export_takes_last_an_id_its_beginning_and_a_path(
    name: str, sessions: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    name = str(sessions / f"{HEADER.id}.jsonl") if name == "PATH" else name
    assert cli.run(["export", name, "--sessions-dir", str(sessions)]) == 0
    assert json.loads(capsysbinary.readouterr().out)["session"]["id"] == HEADER.id


def test_the_same_session_exported_twice_gives_the_same_bytes(sessions: Path) -> None:
    outputs = [sessions / "one.json", sessions / "two.json"]
    for path in outputs:
        assert cli.run(["export", "last", "--sessions-dir", str(sessions), "-o", str(path)]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_export_overwrites_only_when_forced(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = sessions / "there.json"
    there.write_text("precious")
    args = ["export", "last", "--sessions-dir", str(sessions), "-o", str(there)]
    assert cli.run(args) == 2
    assert "exists already" in capsys.readouterr().err
    assert there.read_text() == "precious"
    assert cli.run([*args, "--force"]) == 0
    assert json.loads(there.read_text())["schema"] == "capexplorer.summary/1"


def test_export_into_a_folder_that_is_not_there_is_one_line(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sessions / "no" / "x.json"
    assert cli.run(["export", "last", "--sessions-dir", str(sessions), "-o", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"capexplorer: {path}: ")
    assert err.count("\n") == 1


def test_a_torn_session_is_exported_with_a_note_on_stderr(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sessions / f"{HEADER.id}.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert cli.run(["export", str(path)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["session"]["complete"] is False
    assert "cut off" in err


def test_a_file_that_is_not_a_session_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("hello")
    assert cli.run(["export", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_sessions_folder_may_be_given_before_any_command(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--sessions-dir", str(sessions), "sessions", "--json"]) == 0
    assert [Path(row["path"]).parent for row in json.loads(capsys.readouterr().out)] == [sessions]
    assert cli.run(["--sessions-dir", str(sessions / "none"), "sessions", "--json", "--sessions-dir", str(sessions)]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_a_listed_session_has_its_verdict_and_knee(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(paths.sample_sessions()["sample"], tmp_path)
    assert cli.run(["sessions", "--json", "--sessions-dir", str(tmp_path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["verdict"].startswith("Knee at 50 users [44–59]")
    assert round(row["knee_users"]) == 50


def test_a_knee_that_the_verdict_does_not_let_stand_is_not_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of `sample-static` the curve has a knee at 2 users, but the generator's CPU made it."""
    shutil.copy(paths.sample_sessions()["sample-static"], tmp_path)
    assert cli.run(["sessions", "--json", "--sessions-dir", str(tmp_path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["verdict"].startswith("Limited by the generator's CPU")
    assert row["knee_users"] is None


@pytest.mark.parametrize("name", sorted(paths.sample_sessions()))
def test_a_sample_has_a_title_in_words(name: str) -> None:
    with open_session(paths.sample_sessions()[name]) as log:
        label = log.header.label or ""
    assert " " in label and label != "sample", "a commit says nothing to who reads the list"


WRITES_STDOUT = {
    "export": ["export", "sample"],
    "export html": ["export", "sample", "--format", "html"],
    "sessions": ["sessions"],
    "sessions json": ["sessions", "--json"],
    "compare": ["compare", "sample", "sample-4-threads"],
    "help": ["--help"],
    "targets": ["targets"],
}


@pytest.mark.parametrize(("redirection", "reason"), [("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
@pytest.mark.parametrize("args", WRITES_STDOUT.values(), ids=WRITES_STDOUT)
def test_a_stdout_that_cannot_be_written_is_one_line(args: list[str], redirection: str, reason: str) -> None:
    command = shlex.join([sys.executable, "-m", "capexplorer", *args])
    done = subprocess.run(["sh", "-c", f"{command} {redirection}"], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, f"capexplorer: stdout: cannot be written: {reason}\n")


@pytest.mark.parametrize("args", [WRITES_STDOUT["export html"], WRITES_STDOUT["compare"]], ids=["export", "compare"])
def test_a_reader_that_closes_early_is_not_an_error(args: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "capexplorer", *args], stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")
