"""A wrong profile gives one line: the file, the key, what was expected. A right one gives typed values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capexplorer import cli, paths, profile
from capexplorer.errors import InputError

TASKS = '[[users.task]]\nname = "/health"\n'
TASKS_OF_COMPOSE = f"[users]\n{TASKS}\n[target]\n"
GOOD = f'url = "http://127.0.0.1:9000"\n[users]\n{TASKS}'


def with_users(lines: str) -> str:
    return f'url = "http://127.0.0.1:9000"\n[users]\n{lines}\n{TASKS}'


def with_task(lines: str) -> str:
    return f"{GOOD}{lines}\n"


WRONG = {
    "unknown key": (f'tittle = "x"\n{GOOD}', "unknown key `tittle`; did you mean `title`?"),
    "unknown key in a table": (with_users("wait = 1"), "unknown key `users.wait`; did you mean `wait_s`?"),
    "unknown key in a task": (with_task("weigth = 5"), "unknown key `users.task[0].weigth`; did you mean `weight`?"),
    "unknown key far from any": (f"{GOOD}[slo]\nzzz = 1", "unknown key `slo.zzz`; expected one of failure_ratio, p95_ms, p99_ms"),
    "unknown kind of wait": (with_users("wait_s = { uniform = [1, 2] }"), "unknown key `users.wait_s.uniform`"),
    "wrong type": (with_users('start = "ten"'), "users.start: expected `int`, got `str`"),
    "wrong type in a task": (with_task('weight = "heavy"'), "users.task[0].weight: expected `int`, got `str`"),
    "a truth value is no number": (with_users("wait_s = true"), "users.wait_s: expected"),
    "wrong choice": (with_users('client = "curl"'), "users.client: invalid enum value 'curl'"),
    "missing table": ('url = "http://127.0.0.1"', "object missing required field `users`"),
    "a value where a table belongs": ('url = "http://127.0.0.1"\nusers = 5', "users: expected `object`, got `int`"),
    "not TOML": ("users = [", "not valid TOML"),
    "target and url": (f'target = "mixed"\n{GOOD}', "url: not allowed beside `target`"),
    "url and command": (f'command = "x {{port}}"\n{GOOD}', "command: not allowed beside `url`"),
    "ready without a command": (f'ready = "/"\n{GOOD}', "ready: needs `command`"),
    "compose file and url": (f"{GOOD}[target]\ncompose = 'x.yaml'", "url: not allowed beside `target`"),
    "compose file without a name": (f"{TASKS_OF_COMPOSE}compose = ''", "target.compose: expected"),
    "unknown key of a compose target": (f"{TASKS_OF_COMPOSE}file = 'x'", "unknown key `target.file`; expected one of compose"),
    "parameters of containers": (f"params = {{ threads = 1 }}\n{TASKS_OF_COMPOSE}compose = 'x'", "params: not allowed beside"),
    "no time to get ready": (f"ready_timeout_s = 0\n{GOOD}", "ready_timeout_s: expected more than 0, got 0"),
    "url without a scheme": (GOOD.replace("http://", ""), "url: expected http://HOST[:PORT] or https://..."),
    "url that is none": (GOOD.replace("http://127.0.0.1", "http://[::1"), "url: expected http://HOST[:PORT] or https://..."),
    "url with a port beyond all": (GOOD.replace("9000", "90000"), "url: expected http://HOST[:PORT] or https://..."),
    "no tasks": ('url = "http://127.0.0.1"\n[users]\n', "users: expected `[[users.task]]` or `locustfile`"),
    "tasks and locustfile": (with_users('locustfile = "x.py"'), "users.task: not allowed beside `users.locustfile`"),
    "locustfile that is not there": (
        'url = "http://127.0.0.1"\n[users]\nlocustfile = "gone.py"',
        "users.locustfile: no such file: 'gone.py'",
    ),
    "weights of zero": (with_task("weight = 0"), "users.task: expected a weight above 0 on at least one task"),
    "negative weight": (with_task("weight = -1"), "users.task[0].weight: expected at least 0, got -1"),
    "unknown method": (with_task('method = "FETCH"'), "users.task[0].method: expected one of GET, HEAD, POST"),
    "path without a slash": (GOOD.replace("/health", "health"), "users.task[0].path: expected a path that starts with /"),
    "body and json": (with_task('body = "x"\njson = {}'), "users.task[0]: expected either `body` or `json`"),
    "two waits": (with_users("wait_s = { constant = 1, poisson = 2 }"), "users.wait_s: expected exactly one of between"),
    "no wait": (with_users("wait_s = {}"), "users.wait_s: expected exactly one of between"),
    "negative wait": (with_users("wait_s = -0.1"), "users.wait_s: expected at least 0, got -0.1"),
    "wait that is no number": (with_users("wait_s = nan"), "users.wait_s: expected a finite number, got nan"),
    "endless wait": (with_users("wait_s = { constant = inf }"), "users.wait_s.constant: expected a finite number, got inf"),
    "between with one end": (
        with_users("wait_s = { between = [1.0] }"),
        "users.wait_s.between: expected a list of exactly 2 entries, got 1",
    ),
    "between upside down": (with_users("wait_s = { between = [2, 1] }"), "users.wait_s.between: expected [least, most]"),
    "throughput of nothing": (
        with_users("wait_s = { constant_throughput = 0 }"),
        "users.wait_s.constant_throughput: expected at least 1e-05, got 0",
    ),
    "negative start": (with_users("start = -1"), "users.start: expected at least 0, got -1"),
    "start beyond the guard": (
        f"{with_users('start = 50')}[guards]\nmax_users = 10",
        "users.start: expected at most guards.max_users",
    ),
    "no users allowed": (f"{GOOD}[guards]\nmax_users = 0", "guards.max_users: expected at least 1, got 0"),
    "spawn rate of zero": (with_users("spawn_rate = 0"), "users.spawn_rate: expected at least 0.001, got 0"),
    "spawn rate that is no number": (with_users("spawn_rate = nan"), "users.spawn_rate: expected a finite number, got nan"),
    "timeout of zero": (with_users("timeout_s = 0"), "users.timeout_s: expected more than 0, got 0"),
    "endless timeout": (with_users("timeout_s = inf"), "users.timeout_s: expected a finite number, got inf"),
    "work twice": (f'{GOOD}[work]\nendpoints = ["GET /health"]\nmetric = "x"', "work: expected either `endpoints` or `metric`"),
    "work of no task": (
        f'{GOOD}[work]\nendpoints = ["GET /helth"]',
        "work.endpoints: no task 'GET /helth'; did you mean `GET /health`?",
    ),
    "5,000 digits": (with_task(f"weight = {'9' * 5000}"), "weight (line 5): expected a number that fits 64 bits"),
    "70 bits": (with_task("weight = 1_000_000_000_000_000_000_000"), "users.task[0].weight: expected a number that fits 64 bits"),
    "a weight of a billion": (with_task("weight = 1000000000"), "users.task[0].weight: expected at most 10000, got 1000000000"),
    "100,000 brackets": (f"{GOOD}json = {'[' * 100_000}", "json (line 5): expected values nested at most 32 deep"),
    "40 lists in lists": (with_task(f"json = {'[' * 40}{']' * 40}"), "users.task[0].json[0]"),
    "20,000 dotted keys": (f"{'.'.join('a' * 20_000)} = 1", "line 1: expected keys of at most 32 parts"),
    "20,000 quoted keys": (".".join(['"\\""'] * 20_000) + " = 1", "line 1: expected keys of at most 32 parts"),
    "a file of 300 KiB": (f"{GOOD}body = '{'x' * 300 * 1024}'", "expected a file of at most 256 KiB"),
    "100,000 letters of a key": (f"{'k' * 100_000} = 1", f"unknown key `'{'k' * 59}...'`; expected one of"),
    "a line end in a key": ('"a\\nb" = 1', "unknown key `'a\\nb'`; expected one of"),
    "a line end in a choice": (with_users('client = "cu\\nrl"'), "users.client: invalid enum value 'cu\\nrl'"),
    "a line end in a path": (
        with_task('path = "/a\\nb"'),
        "users.task[0].path: expected a path that starts with /, or a URL, got",
    ),
    "a line end in a header": (
        with_task('headers = { A = "b\\r\\nC: d" }'),
        "users.task[0].headers[...]: expected a header value in one line",
    ),
    "a blank in a header's name": (with_task('headers = { "A B" = "c" }'), "users.task[0].headers: expected a header name"),
    "a date in a body": (
        with_task("json = { at = 1979-05-27 }"),
        "users.task[0].json.at: expected text, a number, true or false",
    ),
    "a status that is none": (with_task("expect_status = 99"), "users.task[0].expect_status: expected at least 100, got 99"),
    "no status": (with_task("expect_status = []"), "users.task[0].expect_status: expected a list of at least 1 entry, got 0"),
    "a billion users": (f"{GOOD}[guards]\nmax_users = 1000000001", "guards.max_users: expected at most 1000000, got 1000000001"),
    "1,001 tasks": (GOOD + TASKS * 1_000, "users.task: expected a list of at most 1000 entries, got 1001"),
    "a locustfile of 5,000 letters": (
        f'url = "http://127.0.0.1"\n[users]\nlocustfile = "{"x" * 5_000}"',
        f"users.locustfile: no such file: '{'x' * 59}...'",
    ),
    "a failure ratio of two": (f"{GOOD}[stop]\nfailure_ratio = 2", "stop.failure_ratio: expected at most 1, got 2"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_profile_gives_one_line_with_file_key_and_expectation(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        profile.load(path)
    refusal = str(caught.value)
    assert refusal.startswith(f"{path}: {message}")
    assert "\n" not in refusal and len(refusal) < 600


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_run_refuses_it_with_exit_code_2_and_no_traceback(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    assert cli.run(["run", str(path), "--headless", "--plan", "1:1s", "--sessions-dir", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"capexplorer: {path}: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"\xff\xfe\x00", "cannot be read"), ("folder", "cannot be read: Is a directory")],
)
def test_a_file_that_cannot_be_read_is_one_line(content: bytes | str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "folder":
        path.mkdir()
    with pytest.raises(InputError, match=message):
        profile.load(path)


def test_a_profile_by_a_name_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(InputError, match="no profile `mixd`; did you mean `mixed`?"):
        paths.profile("mixd")


def test_defaults_are_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(GOOD)
    found = profile.load(path)
    assert (found.users.start, found.users.client, found.users.keep_alive, found.users.timeout_s) == (1, "fast", True, 30.0)
    assert found.users.spawn_rate is None
    assert found.users.task[0].weight == 1
    assert found.guards.max_users == 2000
    assert found.stop == profile.StopRules()


@pytest.mark.parametrize(
    "wait",
    ["0", "1.5", "{ between = [0.1, 0.5] }", "{ constant = 0 }", "{ constant_pacing = 1 }", "{ constant_throughput = 0.5 }",
     "{ poisson = 3 }"],
)  # fmt: skip
def test_every_kind_of_wait_is_taken(wait: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(with_users(f"wait_s = {wait}"))
    profile.load(path)


def test_a_locustfile_is_next_to_its_profile(tmp_path: Path) -> None:
    (tmp_path / "users.py").write_text("")
    path = tmp_path / "p.toml"
    path.write_text('url = "http://127.0.0.1"\n[users]\nlocustfile = "users.py"')
    assert profile.load(path).users.locustfile == "users.py"


def test_the_header_gets_the_whole_resolved_profile_as_plain_values(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(GOOD)
    plain = json.loads(json.dumps(profile.plain(profile.load(path), "mine")))
    assert plain["name"] == "mine"
    assert plain["users"]["task"] == [
        {"name": "/health", "weight": 1, "method": "GET", "path": None, "headers": {}, "body": None, "json": None,
         "expect_status": None}
    ]  # fmt: skip
    assert plain["guards"] == {"max_users": 2000, "max_workers": None, "allow_hosts": [], "unattended_s": 300.0}


def test_every_shipped_profile_is_right() -> None:
    for path in paths.profiles().values():
        profile.load(path)
