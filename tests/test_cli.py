"""The command line: wrong input is refused with exit code 2 and one line on stderr; help, lists, exports, standard output."""

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
from kit.scenario import HEADER
from session.samples import ONE_OF_EACH

from capexplorer import cli, paths
from capexplorer.session.reader import open_session
from capexplorer.session.writer import SessionWriter

URL = ["--host", "http://127.0.0.1:9"]
PROFILES = Path(__file__).parent / "data" / "profiles"
PLAN = ["--headless", "--plan", "1:1s", "--sessions-dir", "HERE"]
"""HERE stands for the temporary folder of a test."""

REFUSED = {
    "unknown command": (["exprot"], "no command `exprot`; did you mean `export`?"),
    "unknown option": (["sessions", "--jsn"], "No such option"),
    "unknown profile": (["run", "mixd", *PLAN], "no profile `mixd`; did you mean `mixed`?"),
    "profile of another folder": (["run", "q-shop", *PLAN], "no profile `q-shop`; expected q-shop.toml in this folder, or "),
    "missing profile file": (["run", "./gone.toml", *PLAN], "gone.toml: no such profile"),
    "missing session": (["export", "gone", "--sessions-dir", "HERE"], "gone"),
    "last of no sessions": (["export", "last", "--sessions-dir", "HERE"], "no session"),
    "unknown format": (["export", "last", "--format", "pdf"], "'pdf' is not"),
    "profile without a service": (
        ["run", str(PROFILES / "no-service.toml"), *PLAN],
        "no-service.toml: expected `command`, `url` or `target`, or --target-cmd COMMAND, --compose FILE or --host URL beside"
        " the profile",
    ),
    "command of a profile without a port": (["run", str(PROFILES / "no-port.toml"), *PLAN],
     "no-port.toml: command: expected {port} in the command, or ready URL with the port that it listens on"),
    "command of a profile with an open quote": (["run", str(PROFILES / "open-quote.toml"), *PLAN],
     "open-quote.toml: command: no closing quotation in"),
    "environment variable that is not set": (
        ["run", str(PROFILES / "variable.toml"), *PLAN],
        "variable.toml: users.task[0].headers.Authorization: expected the environment variable CAPEXPLORER_TEST_TOKEN, which is"
        " not set",
    ),
    "missing compose file": (["run", "--compose", "gone.yaml", "--request", "/", *PLAN], "--compose: no such file: "),
    "compose file and host": (["run", "mixed", *URL, "--compose", "x", *PLAN], "--compose: cannot be combined with --host"),
    "compose file and command": (["run", "mixed", "--target-cmd", "x {port}", "--compose", "x", *PLAN],
     "--compose: cannot be combined with --target-cmd"),
    "init with two services": (["init", *URL, "--target-cmd", "x"], "--target-cmd: cannot be combined with --host"),
    "init with a path but no command of the service": (["init", "--ready", "/"], "--ready: needs --target-cmd"),
    "init with requests and a locustfile": (["init", "--request", "/", "-f", "x.py"],
     "--request: cannot be combined with --locustfile"),
    "init with a URL and a command": (["init", "http://127.0.0.1:9", "--target-cmd", "x"],
     "URL: cannot be combined with --target-cmd"),
    "URL in place of a profile": (["doctor", "http://127.0.0.1:9//x"], "http://127.0.0.1:9//x: no such profile"),
    "URL in place of a locustfile": (["run", "-f", "http://127.0.0.1/x.py"],
     "-f: expected a file of this machine, got http://127"),
    "URL in place of a locustfile of init": (["init", "-f", "http://127.0.0.1/x.py"], "-f: expected a file of this machine"),
    "URL in place of a Compose file": (["run", "--compose", "http://a/x"], "--compose: expected a file of this machine"),
    "URL in place of a table": (["import", "http://127.0.0.1/x.csv"], "FILE: expected a file of this machine, got http://127"),
    "arguments for no locustfile": (["run", "mixed", *PLAN, "--", "--x"],
     "'--x': arguments after `--` are for a locustfile: add -f"),
    "service without requests": (["run", *URL, *PLAN], "--host: which requests do users make?"),
    "init with a missing locustfile": (["init", *URL, "-f", "gone.py"], "gone.py: no such locustfile"),
    "init without a terminal": (["init", "--request", "/"], "there is no terminal to ask on: expected a URL or --target-cmd"),
    "init into another kind of file": (["init", *URL, "--request", "/", "-o", "x.yaml"],
     "-o: expected a name that ends with .toml"),
    "init into a missing folder": (["init", *URL, "--request", "/", "-o", "gone/x.toml"], "-o: gone: no such folder"),
    "init to an existing file": (["init", *URL, "--request", "/", "-o", str(PROFILES / "variable.toml")],
     "variable.toml exists already; another name, or --force to overwrite it"),
    "init for a host that is not loopback": (["init", "--host", "http://192.0.2.1", "--request", "/"],
     "load to 192.0.2.1 is not allowed: only loopback, or add --allow-host 192.0.2.1"),
    "init with a password in the URL": (["init", "--host", "http://me:hunter2@127.0.0.1", "--request", "/"],
     "--host: expected a URL without a password"),
    "plan without a colon": (["run", "mixed", "--headless", "--plan", "huge"], "--plan: no plan `huge` in the profile"),
    "plan with an invalid duration": (["run", "mixed", "--headless", "--plan", "5:xs"],
     "--plan: expected USERS:DURATION like 10:30s"),
    "plan that needs a capacity at its start": (["run", "mixed", "--headless", "--plan", "60% capacity:20s"],
     "--plan: expected levels of rates before the step that needs the capacity"),
    "plan without load": (["run", "mixed", "--headless", "--plan", "rate 0/s 10s"],
     "--plan: expected users or a rate above 0 in some step"),
    "plan with more users than the limit": (["run", "mixed", "--headless", "--plan", "99999:1s"],
     "99999 users exceed guards.max_users"),
    "headless without a plan": (["run", "mixed", "--headless"], "--headless: needs --plan"),
    "more users than the limit": (["run", "mixed", "--users", "99999", *PLAN], "--users: expected at most guards.max_users"),
    "negative users": (["run", "mixed", "--users", "-1", *PLAN], "-1 is not in the range"),
    "5,000 digits of a parameter": (["run", "mixed", "--set", f"threads={'9' * 5000}", *PLAN],
     "--set: threads: expected an integer"),
    "spawn rate of zero": (["run", "mixed", "--spawn-rate", "0", *PLAN],
     "--spawn-rate: expected 0.001 to 100000 users a second, got 0"),
    "spawn rate that is no number": (["run", "mixed", "--spawn-rate", "nan", *PLAN], "--spawn-rate"),
    "setting without a value": (["run", "mixed", "--set", "threads", *PLAN], "--set: expected KEY=VALUE, got 'threads'"),
    "setting of an unknown parameter": (["run", "mixed", "--set", "thraeds=1", *PLAN], "did you mean `threads`?"),
    "setting without a target": (["run", "mixed", *URL, "--set", "threads=1", *PLAN], "--set: needs a target"),
    "host without a scheme": (["run", "mixed", "--host", "localhost:80", *PLAN], "--host: expected http://HOST[:PORT]"),
    "host that is not a URL": (["run", "mixed", "--host", "http://[::1", *PLAN], "--host: expected http://HOST[:PORT]"),
    "host with a port above 65535": (["run", "mixed", "--host", "http://127.0.0.1:99999", *PLAN], "--host: expected http://HOST"),
    "host that is not loopback": (["run", "mixed", "--host", "http://192.0.2.1", *PLAN], "add --allow-host 192.0.2.1"),
    "no terminal": (["run", "mixed"], "the live screen needs a terminal"),
}  # fmt: skip


@pytest.mark.parametrize(("args", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_input_is_reported_and_exits_with_2(
    args: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a folder without profiles of its own
    assert cli.run([str(tmp_path) if arg == "HERE" else arg for arg in args]) == 2
    out, err = capsys.readouterr()
    assert message in " ".join(err.split())
    assert out == ""
    assert "Traceback" not in err


def test_an_allowed_host_is_compared_without_case(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["run", "mixed", "--host", "http://Service.Example", "--allow-host", "SERVICE.example", "--headless"]
    assert cli.run(args) == 2
    assert "--headless: needs --plan" in capsys.readouterr().err, "refused for the host and not for the missing plan"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """A folder with one saved session."""
    writer = SessionWriter(tmp_path / f"{HEADER.id}.jsonl")
    for event in ONE_OF_EACH:
        writer.write(event)
    writer.close()
    return tmp_path


def test_the_version_is_printed_with_those_of_python_libraries_and_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("capexplorer ")
    assert [name for name in ("Python ", "locust ", "gevent ", "textual ", "platform ") if name not in output] == []


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    output = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if name not in output] == []


@pytest.mark.parametrize("command", ["profiles", "targets", "sessions"])
def test_the_option_json_prints_a_list_of_objects(command: str, sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--sessions-dir", str(sessions), command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) > 0
    assert [row for row in rows if not isinstance(row, dict)] == []


def test_sessions_are_listed_with_their_id_and_their_profile(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sessions", "--sessions-dir", str(sessions)]) == 0
    output = capsys.readouterr().out
    assert HEADER.id in output
    assert "mixed" in output


@pytest.mark.parametrize("name", ["last", HEADER.id, HEADER.id[:12], "PATH"])
def test_export_accepts_last_an_id_the_begin_of_an_id_and_a_path(
    name: str, sessions: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    session = str(sessions / f"{HEADER.id}.jsonl") if name == "PATH" else name
    assert cli.run(["export", session, "--sessions-dir", str(sessions)]) == 0
    assert json.loads(capsysbinary.readouterr().out)["session"]["id"] == HEADER.id


def test_a_session_whose_log_is_cut_off_is_exported_with_a_note_on_stderr(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sessions / f"{HEADER.id}.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert cli.run(["export", str(path)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["session"]["complete"] is False
    assert "cut off" in err


def test_the_option_sessions_dir_may_precede_the_command(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--sessions-dir", str(sessions), "sessions", "--json"]) == 0
    assert [Path(row["path"]).parent for row in json.loads(capsys.readouterr().out)] == [sessions]


def test_the_option_sessions_dir_of_the_command_has_precedence(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--sessions-dir", str(sessions / "none"), "sessions", "--json", "--sessions-dir", str(sessions)]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_a_listed_session_has_its_verdict_and_knee(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(paths.sample_sessions()["sample"], tmp_path)
    assert cli.run(["sessions", "--json", "--sessions-dir", str(tmp_path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["verdict"].startswith("Knee at 50 users [44–59]")
    assert round(row["knee_users"]) == 50


def test_a_knee_that_the_verdict_attributes_to_the_generator_is_not_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The curve of `sample-static` has a knee at 2 users, which the generator's CPU caused."""
    shutil.copy(paths.sample_sessions()["sample-static"], tmp_path)
    assert cli.run(["sessions", "--json", "--sessions-dir", str(tmp_path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["knee_users"] is None


@pytest.mark.parametrize("name", sorted(paths.sample_sessions()))
def test_the_label_of_a_sample_session_describes_it_in_several_words(name: str) -> None:
    with open_session(paths.sample_sessions()[name]) as log:
        label = log.header.label or ""
    assert " " in label, "a single word, such as a commit id, does not describe the session"


WRITES_STDOUT = {
    "export": ["export", "sample"],
    "export html": ["export", "sample", "--format", "html"],
    "sessions": ["sessions", "--sessions-dir", str(Path(__file__).parents[1] / "sessions")],
    "sessions json": ["sessions", "--json"],
    "compare": ["compare", "sample", "sample-4-threads"],
    "help": ["--help"],
    "targets": ["targets"],
}


FULL, CLOSED = ("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")


@pytest.mark.parametrize(
    ("args", "redirection", "reason"),
    [*((args, *FULL) for args in WRITES_STDOUT.values()), *((WRITES_STDOUT[name], *CLOSED) for name in ("export", "help"))],
    ids=str,
)
def test_a_standard_output_that_cannot_be_written_is_reported_in_one_line(args: list[str], redirection: str, reason: str) -> None:
    command = shlex.join([sys.executable, "-m", "capexplorer", *args])
    done = subprocess.run(["sh", "-c", f"{command} {redirection}"], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, f"capexplorer: stdout: cannot be written: {reason}\n")


@pytest.mark.parametrize("args", [WRITES_STDOUT["export html"], WRITES_STDOUT["compare"]], ids=["export", "compare"])
def test_a_standard_output_that_its_reader_closed_ends_the_command_as_sigpipe_does(args: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "capexplorer", *args], stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize(
    ("args", "redirection"), [(["no-such-command"], "2> /dev/full"), (["export", "no-such-session"], ">&- 2>&-")]
)
def test_the_exit_code_is_that_of_the_mistake_where_no_line_can_be_written(args: list[str], redirection: str) -> None:
    command = shlex.join([sys.executable, "-m", "capexplorer", *args])
    assert subprocess.run(["sh", "-c", f"{command} {redirection}"], timeout=60, check=False).returncode == 2


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_help_breaks_no_line_within_a_command(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in range(70, 120, 3):
        monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(80, 24), width=width: os.terminal_size((width, 24)))
        assert cli.run([name, "--help"]) == 0
        printed = capsys.readouterr().out
        assert f"Usage: capexplorer {name}" in printed
        assert "\N{NO-BREAK SPACE}" not in printed
        assert [line for line in printed.splitlines() if line.count("`") % 2] == []
