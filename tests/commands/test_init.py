"""`capexplorer init`: the user's service is started, each request is sent once, and a profile is written."""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.servers import Reply, Request, http_server

from capexplorer import cli, profile
from capexplorer.load.guard import HostGuard
from capexplorer.load.single_request import send
from capexplorer.profile import Profile, Task
from capexplorer.target.place import free_port

SERVICE = """\
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        is_known = self.path in ("/health", "/items") or self.headers["Authorization"] == "Bearer hunter2XYZ"
        body = b'{"items": [1], "token": "hunter2XYZ"}'
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
COMMAND = f"{sys.executable} shop.py {{port}}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.py").write_text(SERVICE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Makes `input` return these lines, as if typed in a terminal; returns the list of those that are not read yet."""
    left = list(answers)
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    monkeypatch.setattr(builtins, "input", lambda question: left.pop(0))
    return left


def written(name: str = "shop") -> Profile:
    return profile.load(Path(f"{name}.toml"))


def test_options_alone_write_a_profile_that_starts_the_service(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "curl http://localhost:1/mine -H 'Authorization: Bearer hunter2XYZ'"
    given = ["--target-cmd", COMMAND, "--ready", "/health", "--request", "/items", "--request", secret, "--request", "/gone"]
    assert cli.run(["init", *given]) == 0
    out = capsys.readouterr().out
    assert "GET /items: 200 in " in out
    assert "bytes of application/json" in out
    assert "left out: expected 2xx or 3xx" in out
    assert "export AUTHORIZATION=..." in out
    found = written()
    assert (found.command, found.ready, found.url) == (COMMAND, "/health", None)
    assert [(task.name, dict(task.headers)) for task in found.users.task] == [
        ("/items", {}),
        ("/mine", {"Authorization": "${AUTHORIZATION}"}),
    ]
    assert "hunter2XYZ" not in Path("shop.toml").read_text() + out


WITH_POOL = f"{COMMAND} {{pool}} {{mode}}"


def test_parameters_of_the_command_are_in_the_profile_with_their_usual_values() -> None:
    given = ["--ready", "/health", "--request", "/items", "--set", "pool=10", "--set", "mode=007"]
    assert cli.run(["init", "--target-cmd", WITH_POOL, *given]) == 0
    assert (written().command, dict(written().params)) == (WITH_POOL, {"pool": 10, "mode": "007"})


def test_parameters_of_the_command_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    left = answering(monkeypatch, WITH_POOL, "", "0.5", "slow", "/health", "/items", "", "shop")
    assert cli.run(["init"]) == 0
    assert left == []
    assert dict(written().params) == {"pool": 0.5, "mode": "slow"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--target-cmd", WITH_POOL, "--set", "pool=10", "--request", "/items"), "--set mode=VALUE"),
        (("--target-cmd", COMMAND, "--set", "pool=10", "--request", "/items"), "{pool}"),
        (("--host", "http://127.0.0.1:1", "--set", "pool=10", "--request", "/items"), "--target-cmd"),
    ],
)
def test_a_parameter_without_its_value_or_its_place_is_refused_with_the_remedy(
    arguments: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["init", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line


def test_questions_are_asked_again_until_the_service_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = f"{sys.executable} -c 'raise SystemExit(3)'"
    left = answering(monkeypatch, fails, COMMAND, "/", "/health", "what", "/items", "/gone", "n", "", "mine")
    assert cli.run(["init"]) == 0
    out, err = capsys.readouterr()
    assert left == []
    assert max(map(len, out.partition("starting")[0].splitlines())) < 80, "the question is wider than a usual terminal"
    assert "ended before it listened on a port (exit code 3)" in err
    assert "expected 2xx or 3xx: another path?" in out
    assert "request: expected a path that starts with /, METHOD /PATH [BODY], a curl command" in err
    assert (written("mine").ready, [task.name for task in written("mine").users.task]) == ("/health", ["/items"])


def test_the_port_of_a_command_without_a_placeholder_is_found_where_it_listens() -> None:
    port = free_port()
    assert cli.run(["init", "--target-cmd", COMMAND.format(port=port), "--ready", "/health", "--request", "/items"]) == 0
    assert written().ready == f"http://127.0.0.1:{port}/health"


def test_a_secret_in_the_command_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--target-cmd", f"env TOKEN=hunter2XYZ {COMMAND}", "--ready", "/health", "--request", "/items"]
    assert cli.run(["init", *given]) == 0
    assert "The command holds what looks like a secret" in capsys.readouterr().out
    assert written(Path.cwd().name).ready == "/health"  # named after the folder, since `env` is not the service


def test_a_locustfile_replaces_requests(folder: Path) -> None:
    (folder / "users.py").write_text("")
    (folder / "deep").mkdir()
    given = ["--host", "http://127.0.0.1:9", "-f", "users.py", "-o", "deep/x.toml"]
    assert cli.run(["init", *given]) == 0
    assert written("deep/x").users.locustfile == "../users.py"


def test_init_asks_no_questions_without_requests_to_send(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", "--host", "http://127.0.0.1:9", "--request", "/a", "--no-send"]) == 0
    assert "not sent yet" in Path("127.0.0.1-9.toml").read_text()


@pytest.mark.parametrize("given", ["http://127.0.0.1:9/items?page=2", "curl http://127.0.0.1:9/items?page=2"])
def test_a_url_with_a_path_names_the_service_and_its_first_request(given: str) -> None:
    assert cli.run(["init", given, "--request", "/more", "--no-send", "-o", "x.toml"]) == 0
    assert cli.run(["init", given, "--no-send", "-o", "one.toml"]) == 0, "complete, so that nothing is asked"
    assert written("x").url == written("one").url == "http://127.0.0.1:9"
    assert [task.name for task in written("x").users.task] == ["/items", "/more"]
    assert [task.path for task in written("one").users.task] == ["/items?page=2"]


def test_a_url_without_a_path_is_the_service_and_no_request() -> None:
    assert cli.run(["init", "http://127.0.0.1:9/", "--request", "/more", "--no-send", "-o", "x.toml"]) == 0
    assert [task.name for task in written("x").users.task] == ["/more"]


@pytest.mark.parametrize(
    ("request_given", "advice"),
    [
        ("POST /orders", 'it may need a body: POST /orders {"item": 1}, a form such as item=1'),
        ("POST /orders {}", "each request may need values of its own: {{NAME}} in the body, and --values NAME=A,B,C"),
        ("DELETE /orders", "another method is needed"),
        ("/mine", "it needs a header: give it as a curl command, with -H 'Authorization: Bearer ...'"),
    ],
)
def test_a_refused_request_is_followed_by_what_it_may_lack(
    request_given: str, advice: str, refusing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["init", refusing, "--request", request_given]) == 2
    assert advice in capsys.readouterr().out


def test_placeholders_get_their_values_from_options_and_are_drawn_for_the_first_request(
    folder: Path, refusing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "skus.csv").write_text("sku\n7\n")
    (folder / "deep").mkdir()
    order = 'POST /orders {"item": {{n}}, "sku": "{{sku}}"}'
    given = ["--values", "n=1,2", "--values", "sku=skus.csv", "-o", "deep/x.toml"]
    assert cli.run(["init", refusing, "--request", order, *given]) == 0
    assert written("deep/x").users.values == {"n": (1, 2), "sku": "../skus.csv"}
    assert cli.run(["init", refusing, "--request", order]) == 2
    assert "--request: {{n}} needs --values n=A,B,C or n=FILE.csv[:COLUMN]" in capsys.readouterr().err


def test_values_of_placeholders_are_asked_for(monkeypatch: pytest.MonkeyPatch, refusing: str) -> None:
    left = answering(monkeypatch, 'POST /orders {"item": {{n}}}', "1,2", "", "x")
    assert cli.run(["init", refusing]) == 0
    assert (left, written("x").users.values) == ([], {"n": (1, 2)})


def test_a_service_that_answers_nothing_gets_no_profile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", "--host", f"http://127.0.0.1:{free_port()}", "--request", "/"]) == 2
    out, err = capsys.readouterr()
    assert "GET /: connection refused" in out
    assert err == "capexplorer: no profile written: no request was answered with 2xx or 3xx\n"
    assert list(folder.glob("*.toml")) == []


ANSWERS_AT_THE_THIRD = SERVICE.replace("class Handler", "asked = []\n\nclass Handler").replace(
    "        is_known =", "        asked.append(1)\n        is_known = len(asked) > 2 and"
)


def test_a_readiness_path_that_answers_404_is_reported_with_the_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("capexplorer.target.ready.SILENT_S", 0.0)
    (folder / "shop.py").write_text(ANSWERS_AT_THE_THIRD)
    assert cli.run(["init", "--target-cmd", COMMAND, "--ready", "/health", "--request", "/items"]) == 0
    out = capsys.readouterr().out
    expected = (
        "not ready yet: GET /health: status 404, expected 2xx or 3xx; it has 120 s. Ctrl+C ends it; another path: --ready /PATH"
    )
    assert out.count(expected) == 1, "once, since it does not change"


def test_a_command_that_listens_on_no_port_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("capexplorer.target.ready.SILENT_S", 0.0)
    (folder / "shop.py").write_text(f"import time\ntime.sleep(1)\n{SERVICE}")
    assert cli.run(["init", "--target-cmd", COMMAND.format(port=free_port()), "--ready", "/health", "--request", "/items"]) == 0
    assert capsys.readouterr().out.count("not ready yet: it listens on no port; it has 120 s. Ctrl+C ends it") == 1


def test_a_service_that_cannot_start_is_one_line_with_its_last_output(capsys: pytest.CaptureFixture[str]) -> None:
    fails = f"{sys.executable} -c 'import sys; sys.exit(\"no database\")' {{port}}"
    assert cli.run(["init", "--target-cmd", fails, "--request", "/"]) == 4
    assert "no database" in capsys.readouterr().err


def test_at_the_end_of_its_input_init_ends_without_a_profile(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    answering(monkeypatch)

    def end(question: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", end)
    assert cli.run(["init"]) == 130
    assert list(folder.glob("*.toml")) == []


@pytest.fixture
def refusing() -> Iterator[str]:
    """A service that takes orders of an item, and nothing else."""

    def answer(request: Request) -> Reply:
        if request.method == "POST":
            return Reply(201 if request.body and "item" in json.loads(request.body) else 422, b"")
        return Reply(401 if request.method == "GET" else 405, b"")

    with http_server(answer) as server:
        yield server.url


@pytest.fixture
def redirecting() -> Iterator[str]:
    with http_server(lambda request: Reply(302, b"", {"Location": "http://192.0.2.1/"})) as server:
        yield server.url.replace("127.0.0.1", "localhost")


def test_a_single_request_is_sent_only_to_hosts_that_the_guard_allows(redirecting: str) -> None:
    answer = send(Task(name="/"), redirecting, HostGuard())  # localhost, which has ::1 before the address of the service
    assert not isinstance(answer, str)
    assert answer.status == 302
    refused = "load to 192.0.2.1 is not allowed (only loopback, or --allow-host 192.0.2.1)"
    assert send(Task(name="/"), "http://192.0.2.1", HostGuard()) == refused
    assert send(Task(name="/", path="http://192.0.2.1/x"), redirecting, HostGuard()) == refused


@pytest.mark.parametrize("command", [COMMAND, f"{sys.executable} shop.py 8000"])
def test_a_service_that_does_not_speak_http_is_not_started(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = "tcp" if "{port}" in command else "tcp://127.0.0.1:8000"
    assert cli.run(["init", "--target-cmd", command, "--ready", ready, "--request", "/"]) == 2
    assert "init makes requests of HTTP" in capsys.readouterr().err
    assert list(folder.glob("*.toml")) == []
