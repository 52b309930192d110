"""An invalid profile is refused in one line with file, key and expectation; a valid one is loaded as typed values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capexplorer import cli, paths, profile
from capexplorer.errors import InputError

TASK = '[[users.task]]\nname = "/health"\n'
COMPOSE_TARGET_WITHOUT_KEYS = f"[users]\n{TASK}\n[target]\n"
VALID = f'url = "http://127.0.0.1:9000"\n[users]\n{TASK}'


def with_users(lines: str) -> str:
    """A valid profile, but for these lines in its table of users."""
    return f'url = "http://127.0.0.1:9000"\n[users]\n{lines}\n{TASK}'


def with_task(lines: str) -> str:
    """A valid profile, but for these lines in its task."""
    return f"{VALID}{lines}\n"


INVALID = {
    "unknown key": (f'tittle = "x"\n{VALID}', "unknown key `tittle`; did you mean `title`?"),
    "unknown key in a table": (with_users("wait = 1"), "unknown key `users.wait`; did you mean `wait_s`?"),
    "unknown key in a task": (with_task("weigth = 5"), "unknown key `users.task[0].weigth`; did you mean `weight`?"),
    "unknown key that resembles no other": (f"{VALID}[slo]\nzzz = 1",
     "unknown key `slo.zzz`; expected one of failure_ratio, p95_ms, p99_ms"),
    "unknown kind of wait": (with_users("wait_s = { uniform = [1, 2] }"), "unknown key `users.wait_s.uniform`"),
    "wrong type": (with_users('start = "ten"'), "users.start: expected `int`, got `str`"),
    "wrong type in a task": (with_task('weight = "heavy"'), "users.task[0].weight: expected `int`, got `str`"),
    "true for a number": (with_users("wait_s = true"), "users.wait_s: expected"),
    "wrong choice": (with_users('client = "curl"'), "users.client: expected one of fast, requests, lean, got 'curl'"),
    "wrong word for a number": (with_users('workers = "all"'), "users.workers: expected one of a whole number, auto, got 'all'"),
    "wrong arrivals": (with_users('arrivals = "odd"'), "users.arrivals: expected one of poisson, even, got 'odd'"),
    "missing table": ('url = "http://127.0.0.1"', "object missing required field `users`"),
    "a value where a table belongs": ('url = "http://127.0.0.1"\nusers = 5', "users: expected `object`, got `int`"),
    "not TOML": ("users = [", "not valid TOML"),
    "target and url": (f'target = "mixed"\n{VALID}', "url: not allowed beside `target`"),
    "url and command": (f'command = "x {{port}}"\n{VALID}', "command: not allowed beside `url`"),
    "ready without a command": (f'ready = "/"\n{VALID}', "ready: needs `command`"),
    "compose file and url": (f"{VALID}[target]\ncompose = 'x.yaml'", "url: not allowed beside `target`"),
    "compose file without a name": (f"{COMPOSE_TARGET_WITHOUT_KEYS}compose = ''", "target.compose: expected"),
    "unknown key of a compose target": (f"{COMPOSE_TARGET_WITHOUT_KEYS}file = 'x'",
     "unknown key `target.file`; expected one of compose"),
    "parameters of containers": (f"params = {{ threads = 1 }}\n{COMPOSE_TARGET_WITHOUT_KEYS}compose = 'x'",
     "params: not allowed beside"),
    "ready_timeout_s of zero": (f"ready_timeout_s = 0\n{VALID}", "ready_timeout_s: expected more than 0, got 0"),
    "url without a scheme": (VALID.replace("http://", ""), "url: expected http://HOST[:PORT] or https://..."),
    "url with an open bracket": (VALID.replace("http://127.0.0.1", "http://[::1"),
     "url: expected http://HOST[:PORT] or https://..."),
    "url with a port above 65535": (VALID.replace("9000", "90000"), "url: expected http://HOST[:PORT] or https://..."),
    "no tasks": ('url = "http://127.0.0.1"\n[users]\n', "users: expected `[[users.task]]` or `locustfile`"),
    "tasks and locustfile": (with_users('locustfile = "x.py"'), "users.task: not allowed beside `users.locustfile`"),
    "missing locustfile": ('url = "http://127.0.0.1"\n[users]\nlocustfile = "gone.py"',
     "users.locustfile: no such file: 'gone.py'"),
    "weights of zero": (with_task("weight = 0"), "users.task: expected a weight above 0 on at least one task"),
    "negative weight": (with_task("weight = -1"), "users.task[0].weight: expected at least 0, got -1"),
    "unknown method": (with_task('method = "FETCH"'), "users.task[0].method: expected one of GET, HEAD, POST"),
    "path without a slash": (VALID.replace("/health", "health"), "users.task[0].path: expected a path that starts with /"),
    "body and json": (with_task('body = "x"\njson = {}'), "users.task[0]: expected either `body` or `json`"),
    "two waits": (with_users("wait_s = { constant = 1, poisson = 2 }"), "users.wait_s: expected exactly one of between"),
    "no wait": (with_users("wait_s = {}"), "users.wait_s: expected exactly one of between"),
    "negative wait": (with_users("wait_s = -0.1"), "users.wait_s: expected at least 0, got -0.1"),
    "wait that is no number": (with_users("wait_s = nan"), "users.wait_s: expected a finite number, got nan"),
    "infinite wait": (with_users("wait_s = { constant = inf }"), "users.wait_s.constant: expected a finite number, got inf"),
    "between with one end": (with_users("wait_s = { between = [1.0] }"),
     "users.wait_s.between: expected a list of exactly 2 entries, got 1"),
    "between with the larger number first": (with_users("wait_s = { between = [2, 1] }"),
     "users.wait_s.between: expected [least, most]"),
    "throughput of zero": (with_users("wait_s = { constant_throughput = 0 }"),
     "users.wait_s.constant_throughput: expected at least 1e-05, got 0"),
    "negative start": (with_users("start = -1"), "users.start: expected at least 0, got -1"),
    "more users at the start than the limit": (f"{with_users('start = 50')}[guards]\nmax_users = 10",
     "users.start: expected at most guards.max_users"),
    "limit of zero users": (f"{VALID}[guards]\nmax_users = 0", "guards.max_users: expected at least 1, got 0"),
    "spawn rate of zero": (with_users("spawn_rate = 0"), "users.spawn_rate: expected at least 0.001, got 0"),
    "spawn rate that is no number": (with_users("spawn_rate = nan"), "users.spawn_rate: expected a finite number, got nan"),
    "timeout of zero": (with_users("timeout_s = 0"), "users.timeout_s: expected more than 0, got 0"),
    "infinite timeout": (with_users("timeout_s = inf"), "users.timeout_s: expected a finite number, got inf"),
    "work as endpoints and as metric": (f'{VALID}[work]\nendpoints = ["GET /health"]\nmetric = "x"',
     "work: expected either `endpoints` or `metric`"),
    "work of an unknown task": (f'{VALID}[work]\nendpoints = ["GET /helth"]',
     "work.endpoints: no task 'GET /helth'; did you mean `GET /health`?"),
    "5,000 digits": (with_task(f"weight = {'9' * 5000}"), "weight (line 5): expected a number that fits 64 bits"),
    "70 bits": (with_task("weight = 1_000_000_000_000_000_000_000"), "users.task[0].weight: expected a number that fits 64 bits"),
    "a weight of a billion": (with_task("weight = 1000000000"), "users.task[0].weight: expected at most 10000, got 1000000000"),
    "100,000 brackets": (f"{VALID}json = {'[' * 100_000}", "json (line 5): expected values nested at most 32 deep"),
    "40 lists in lists": (with_task(f"json = {'[' * 40}{']' * 40}"), "users.task[0].json[0]"),
    "20,000 dotted keys": (f"{'.'.join('a' * 20_000)} = 1", "line 1: expected keys of at most 32 parts"),
    "20,000 quoted keys": (".".join(['"\\""'] * 20_000) + " = 1", "line 1: expected keys of at most 32 parts"),
    "a file of 300 KiB": (f"{VALID}body = '{'x' * 300 * 1024}'", "expected a file of at most 256 KiB"),
    "100,000 letters of a key": (f"{'k' * 100_000} = 1", f"unknown key `'{'k' * 59}...'`; expected one of"),
    "a line end in a key": ('"a\\nb" = 1', "unknown key `'a\\nb'`; expected one of"),
    "a line end in a choice": (with_users('client = "cu\\nrl"'),
     "users.client: expected one of fast, requests, lean, got 'cu\\nrl'"),
    "a line end in a path": (with_task('path = "/a\\nb"'),
     "users.task[0].path: expected a path that starts with /, or a URL, got"),
    "a line end in a header": (with_task('headers = { A = "b\\r\\nC: d" }'),
     "users.task[0].headers[...]: expected a header value in one line"),
    "a blank in a header's name": (with_task('headers = { "A B" = "c" }'), "users.task[0].headers: expected a header name"),
    "a date in a body": (with_task("json = { at = 1979-05-27 }"),
     "users.task[0].json.at: expected text, a number, true or false"),
    "a status below 100": (with_task("expect_status = 99"), "users.task[0].expect_status: expected at least 100, got 99"),
    "an empty list of statuses": (with_task("expect_status = []"),
     "users.task[0].expect_status: expected a list of at least 1 entry, got 0"),
    "a billion users": (f"{VALID}[guards]\nmax_users = 1000000001", "guards.max_users: expected at most 1000000, got 1000000001"),
    "1,001 tasks": (VALID + TASK * 1_000, "users.task: expected a list of at most 1000 entries, got 1001"),
    "a locustfile of 5,000 letters": (f'url = "http://127.0.0.1"\n[users]\nlocustfile = "{"x" * 5_000}"',
     f"users.locustfile: no such file: '{'x' * 59}...'"),
    "a placeholder without values": (with_task('body = "{{sku}}"'),
     'users.task[0]: `{{sku}}` has no value in [users.values]: sku = [...] or "FILE.csv" there'),
    "a placeholder of another name": (with_users("values = { sku = [1] }") + 'path = "/{{skus}}"',
     "users.task[0]: `{{skus}}` has no value in [users.values]: did you mean `sku`?"),
    "values without a file": (with_users('values = { sku = "gone.csv:sku" }'), "users.values.sku: no such file: 'gone.csv'"),
    "values in another kind of file": (with_users('values = { sku = "skus.txt" }'),
     "users.values[...]: expected FILE.csv or FILE.csv:COLUMN"),
    "no values": (with_users("values = { sku = [] }"), "users.values[...]: expected a list of at least 1 entry"),
    "a failure ratio of two": (f"{VALID}[stop]\nfailure_ratio = 2", "stop.failure_ratio: expected at most 1, got 2"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_an_invalid_profile_is_refused_in_one_line_with_file_key_and_expectation(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "invalid.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        profile.load(path)
    refusal = str(caught.value)
    assert refusal.startswith(f"{path}: {message}")
    assert "\n" not in refusal
    assert len(refusal) < 600


def test_run_refuses_an_invalid_profile_with_exit_code_2_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "invalid.toml"
    path.write_text(with_users("wait = 1"))
    assert cli.run(["run", str(path), "--headless", "--plan", "1:1s", "--sessions-dir", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", f"capexplorer: {path}: unknown key `users.wait`; did you mean `wait_s`?\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"\xff\xfe\x00", "cannot be read"), ("folder", "cannot be read: Is a directory")],
)
def test_a_profile_that_cannot_be_read_is_refused_with_the_reason(
    content: bytes | str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.toml"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "folder":
        path.mkdir()
    with pytest.raises(InputError, match=message):
        profile.load(path)


def test_an_unknown_name_of_a_profile_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="no profile `mixd`; did you mean `mixed`?"):
        paths.profile("mixd")


@pytest.mark.parametrize(
    "wait",
    ["0", "1.5", "{ between = [0.1, 0.5] }", "{ constant = 0 }", "{ constant_pacing = 1 }", "{ constant_throughput = 0.5 }",
     "{ poisson = 3 }"],
)  # fmt: skip
def test_every_kind_of_wait_is_accepted(wait: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(with_users(f"wait_s = {wait}"))
    profile.load(path)


def test_a_locustfile_is_relative_to_the_folder_of_its_profile(tmp_path: Path) -> None:
    (tmp_path / "users.py").write_text("")
    path = tmp_path / "p.toml"
    path.write_text('url = "http://127.0.0.1"\n[users]\nlocustfile = "users.py"')
    assert profile.load(path).users.locustfile == "users.py"


def test_the_profile_as_plain_values_has_all_keys_with_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(VALID)
    plain = json.loads(json.dumps(profile.plain(profile.load(path), "mine")))
    assert plain["name"] == "mine"
    assert plain["users"]["task"] == [
        {"name": "/health", "weight": 1, "method": "GET", "path": None, "headers": {}, "body": None, "json": None,
         "expect_status": None, "stream": None}
    ]  # fmt: skip
    assert plain["guards"] == {"max_users": 2000, "max_workers": None, "allow_hosts": [], "unattended_s": 300.0}


def test_every_profile_of_the_repository_is_valid() -> None:
    for path in paths.profiles().values():
        profile.load(path)
