"""What a run explores and by which users, with and without a profile; options with a rule of their own."""

from __future__ import annotations

import builtins
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.servers import tcp_server

from capexplorer.commands.run import command
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.errors import InputError
from capexplorer.load import variables
from capexplorer.model.load import Arrivals, Users
from capexplorer.model.requirements import KneeRequired, PercentileRequired, Requirement
from capexplorer.run.options import RunOptions
from lab.kit.servers import free_port

TASK = '[users]\n[[users.task]]\nname = "/"\n'


def profile(folder: Path, service: str) -> str:
    (path := folder / "shop.toml").write_text(f"{service}\n{TASK}")
    return str(path)


@pytest.mark.parametrize("service", ["", 'url = "http://127.0.0.1:9"', 'command = "other {port}"', 'target = "mixed"'])
def test_a_command_on_the_command_line_replaces_the_service_of_any_profile(service: str, tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, service), target_cmd="./shop --port {port}", ready="/up"))
    assert found.spec is not None
    assert found.url is None
    assert (found.spec.command, found.spec.ready.path, found.spec.folder) == (("./shop", "--port", "{port}"), "/up", Path.cwd())


@pytest.mark.parametrize("service", ["", 'url = "http://127.0.0.1:9"', 'command = "other {port}"', 'target = "mixed"'])
def test_a_url_on_the_command_line_replaces_the_service_of_any_profile(service: str, tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, service), host="http://127.0.0.1:7"))
    assert (found.spec, found.url) == (None, "http://127.0.0.1:7")


@pytest.mark.parametrize("of", ["getpid", "getppid"], ids=["the first process", "the one of its init"])
def test_the_run_for_which_a_container_was_started_cannot_be_detached_from_it(of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, of, lambda: 1)
    monkeypatch.setattr(sys, "argv", ["capexplorer", "run", "--detach"])
    words = "/sbin/docker-init\0--\0capexplorer\0run\0--detach\0"
    monkeypatch.setattr("capexplorer.commands.run.read_once", lambda path: words)
    assert command.callback is not None
    with pytest.raises(InputError, match="^--detach: this is the process that a container runs"):
        command.callback(detach=True)


def test_the_command_of_a_profile_runs_in_its_folder(tmp_path: Path) -> None:
    service = 'command = "./shop --port {port}"\nready = "/up"\nready_timeout_s = 7'
    found = resolve(RunArguments(profile=profile(tmp_path, service)))
    assert found.spec is not None
    assert found.port is None
    assert (found.spec.name, found.spec.folder) == ("shop", tmp_path)
    assert (found.spec.ready.path, found.spec.ready.timeout_s, found.spec.ready.any_status) == ("/up", 7.0, False)


def test_the_most_users_of_a_profile_are_lowered_and_never_raised(tmp_path: Path) -> None:
    service = 'url = "http://127.0.0.1:9"\nguards.max_users = 40\n' + TASK.replace("[users]", "[users]\nstart = 30", 1)
    (path := tmp_path / "shop.toml").write_text(service)
    for asked, most, start in ((None, 40, 30), (20, 20, 20), (90, 40, 30)):
        found = resolve(RunArguments(profile=str(path), max_users=asked))
        assert (found.profile.guards.max_users, found.start_users) == (most, start)
    with pytest.raises(InputError, match="guards.max_users"):
        resolve(RunArguments(profile=str(path), max_users=20, plan="21:5s"))


def test_a_command_with_a_fixed_port_is_checked_at_that_port(tmp_path: Path) -> None:
    service = 'command = "./shop"\nready = "http://127.0.0.1:8123/up?deep=1"'
    found = resolve(RunArguments(profile=profile(tmp_path, service)))
    assert found.spec is not None
    assert (found.port, found.spec.ready.path) == (8123, "/up?deep=1")


@pytest.mark.parametrize(
    ("command", "ready", "port"),
    [
        ("./store {port}", "tcp", None),
        ("./store {port}", "tcp://127.0.0.1:{port}", None),
        ("./store", "tcp://127.0.0.1:6379", 6379),
    ],
)
def test_a_service_that_does_not_speak_http_is_ready_with_its_port(command: str, ready: str, port: int | None) -> None:
    found = resolve(RunArguments(target_cmd=command, ready=ready, requests=("/",)))
    assert found.spec is not None
    assert (found.spec.ready.tcp, found.port) == (True, port)


@pytest.mark.parametrize("ready", ["udp://127.0.0.1:{port}", "tcp://10.9.9.9:{port}", "tcp"])
def test_another_port_than_one_of_loopback_is_no_readiness(ready: str) -> None:
    with pytest.raises(InputError, match="--ready: "):
        resolve(RunArguments(target_cmd="./store" if ready == "tcp" else "./store {port}", ready=ready, requests=("/",)))


def test_without_a_readiness_path_a_reply_with_any_status_means_ready(tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, 'command = "./shop {port}"')))
    assert found.spec is not None
    assert found.spec.ready.any_status


COMPOSE = "services: {web: {image: x, command: [serve, '${CAPEXPLORER_PORT}']}}"


@pytest.fixture
def compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Compose file in a folder, and a docker that finds nothing wrong with it."""
    monkeypatch.setattr("capexplorer.target.containers.check_compose", lambda file, key: None)
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    return tmp_path


def test_the_compose_file_of_a_profile_is_started_in_its_folder_on_a_free_port(compose: Path) -> None:
    found = resolve(
        RunArguments(profile=profile(compose, 'ready = "/up"\nready_timeout_s = 7\n[target]\ncompose = "compose.yaml"'))
    )
    spec = found.spec
    assert spec is not None
    assert spec.compose
    assert spec.uses_scratch
    assert found.port is None
    assert (spec.name, spec.folder, spec.ready.path) == (compose.name, compose, "/up")
    assert str(compose / "compose.yaml") in spec.command_line({}, 8123)
    assert spec.environment_for({}, 8123) == {"CAPEXPLORER_PORT": "8123"}
    assert spec.least_grace_s > 0


def test_a_compose_file_with_a_fixed_port_is_checked_at_that_port(compose: Path) -> None:
    (compose / "compose.yaml").write_text("services: {web: {image: x, ports: ['8123:80']}}")
    found = resolve(RunArguments(compose=compose / "compose.yaml", ready="http://127.0.0.1:8123/up", requests=("/items",)))
    assert found.spec is not None
    assert (found.port, found.spec.ready.path) == (8123, "/up")
    assert [task.name for task in found.profile.users.task] == ["/items"], "and not the readiness path"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ready": "/up"}, r"--ready: the Compose file has no \$\{CAPEXPLORER_PORT\}: write http://127.0.0.1:NUMBER/PATH"),
        ({}, r"--compose: expected \$\{CAPEXPLORER_PORT\} in the Compose file, or --ready URL"),
    ],
)
def test_a_compose_file_whose_port_is_unknown_is_refused(compose: Path, given: dict[str, str], message: str) -> None:
    (compose / "compose.yaml").write_text("services: {web: {image: x, ports: ['8123:80']}}")
    with pytest.raises(InputError, match=message):
        resolve(RunArguments(compose=compose / "compose.yaml", requests=("/",), **given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limits": ("target.open_files=64",)}, "--limit: limits.target: not for containers"),
        ({"sandbox": True}, "--sandbox: not for containers"),
    ],
)
def test_limits_that_containers_do_not_have_are_refused(compose: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(RunArguments(compose=compose / "compose.yaml", requests=("/",), **given))  # type: ignore[arg-type]


PARAMS = 'command = "./shop --port {port} --pool {pool} --mode {mode}"\nparams = { pool = 5, mode = "fast" }'


def test_the_parameters_of_a_profile_fill_the_placeholders_of_its_command(tmp_path: Path) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, PARAMS), settings=("pool=9",)))
    assert found.spec is not None
    assert found.params == {"pool": 9, "mode": "fast"}
    assert found.spec.command_line(found.params, 81) == ("./shop", "--port", "81", "--pool", "9", "--mode", "fast")


def test_a_command_of_the_command_line_takes_its_parameters_from_set_and_the_profile(tmp_path: Path) -> None:
    command = "./shop {port} {pool} {size}"
    alone = resolve(RunArguments(target_cmd=command, requests=("/",), settings=("pool=9", "size=small")))
    assert alone.params == {"pool": "9", "size": "small"}
    beside = resolve(RunArguments(profile=profile(tmp_path, PARAMS), target_cmd=command, settings=("size=small",)))
    assert beside.params == {"pool": 5, "size": "small"}, "`mode` is not one of this command"


@pytest.mark.parametrize(
    ("service", "settings", "message"),
    [
        (PARAMS, "pool=many", r"--set: pool: expected an integer, got `many` \(.*shop.toml\)"),
        (PARAMS, "poll=9", r"--set: shop has no parameter `poll`; did you mean `pool`\? \(.*shop.toml\)"),
        ('command = "./shop {port}"', "pool=9", r"no parameter `pool`; for one, its command needs `{pool}` \(.*shop.toml\)"),
        ('command = "./shop {port} {pool}"', "pool=9", "shop.toml: command: unknown placeholder `{pool}`"),
        ('command = "./shop {port}"\nparams = { pool = 5 }', "", "shop.toml: params.pool: expected `{pool}` in `command`"),
        ('command = "./shop {port}"\nparams = { port = 5 }', "", "shop.toml: params.port: expected another name"),
        ('url = "http://127.0.0.1:9"\nparams = { pool = 5 }', "", "shop.toml: params: not allowed beside `url`"),
    ],
)
def test_a_wrong_parameter_is_refused_with_the_file_that_declares_it(
    service: str, settings: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        resolve(RunArguments(profile=profile(tmp_path, service), settings=(settings,) if settings else ()))


@pytest.mark.parametrize(
    ("host", "url", "users_get"),
    [
        ("ws://127.0.0.1:9/feed", "ws://127.0.0.1:9/feed", "ws://127.0.0.1:9/feed"),
        ("tcp://127.0.0.1:9", "tcp://127.0.0.1:9", "tcp://127.0.0.1:9"),
        ("127.0.0.1:9", "tcp://127.0.0.1:9", "127.0.0.1:9"),
    ],
)
@pytest.mark.parametrize("source", ["--host", "LOCUST_HOST"])
def test_users_of_a_locustfile_get_the_host_as_it_was_given(
    host: str, url: str, users_get: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "users.py").write_text("")
    monkeypatch.setenv("LOCUST_HOST", host if source == "LOCUST_HOST" else "http://127.0.0.1:1")
    found = resolve(RunArguments(locustfile=file, host=host if source == "--host" else None))
    assert (found.url, found.users_url(found.url or "")) == (url, users_get)


def test_the_host_of_locust_is_not_that_of_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUST_HOST", "http://127.0.0.1:1")
    assert resolve(RunArguments(profile=profile(tmp_path, 'url = "http://127.0.0.1:9"'))).url == "http://127.0.0.1:9"


URL = "http://127.0.0.1:9"
NAMES_SERVICE = [{"host": URL}, {"target_cmd": "./shop {port}"}, {"target_cmd": "./shop {port}", "ready": "/up"}]
PROFILE = f'url = "{URL}"\n[users]\n[[users.task]]\nname = "/own"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, without a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "isatty", lambda fd: False)
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    """What the user types at a terminal."""
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    monkeypatch.setattr(builtins, "input", lambda question: typed)


def requests_of(found: RunOptions) -> list[str]:
    return [f"{task.method} {task.path or task.name}" for task in found.profile.users.task]


@pytest.mark.parametrize(
    ("url", "path"), [(URL, "/"), (f"{URL}/", "/"), (f"{URL}/items", "/items"), (f"{URL}/items?page=2#x", "/items?page=2")]
)
def test_a_url_in_place_of_a_profile_is_the_service_and_the_request(url: str, path: str) -> None:
    found = resolve(RunArguments(profile=url))
    assert (found.url, requests_of(found), found.name) == (URL, [f"GET {path}"], "127.0.0.1-9")
    assert found.profile.users.wait_s != 0, "users without think time would make one level of any service its limit"


def test_beside_requests_a_url_is_the_service_alone() -> None:
    found = resolve(RunArguments(profile=URL, requests=("/items", 'POST /orders {"item": 1}')))
    assert (found.url, requests_of(found)) == (URL, ["GET /items", "POST /orders"])
    assert found.profile.users.task[1].json == {"item": 1}
    assert found.profile.title == "GET /items, POST /orders"


def test_a_command_is_loaded_with_the_requests_of_the_command_line() -> None:
    found = resolve(RunArguments(target_cmd="./shop {port}", requests=("curl http://localhost:8000/items",)))
    assert found.spec is not None
    assert (found.name, requests_of(found)) == ("shop", ["GET /items"]), "whatever port the curl command had"


@pytest.mark.parametrize("given", [{"profile": f"curl {URL}/items"}, {"requests": (f"{URL}/items",)}])
def test_a_request_with_a_whole_url_names_its_service(given: dict[str, str | tuple[str, ...]]) -> None:
    found = resolve(RunArguments(**given))  # type: ignore[arg-type]
    assert (found.url, requests_of(found)) == (URL, ["GET /items"])


def test_a_secret_of_a_curl_command_is_sent_and_not_recorded() -> None:
    command = f"curl {URL}/items -H 'Authorization: Bearer hunter2XYZ'"
    found = resolve(RunArguments(profile=command))
    [task] = found.profile.users.task
    assert "hunter2XYZ" not in repr(found)
    assert variables.expanded(task, found.variables).headers == {"Authorization": "Bearer hunter2XYZ"}
    assert "AUTHORIZATION" not in os.environ, "the target and other children of the run would inherit it"


def test_values_of_the_command_line_are_drawn_by_the_requests(folder: Path) -> None:
    (folder / "skus.csv").write_text("sku\nA\n")
    found = resolve(
        RunArguments(profile=URL, requests=('/i {"n": "{{n}}", "s": "{{s}}"}',), values=("n=1, 2.5,x,true", "s=skus.csv:sku"))
    )
    assert found.profile.users.values == {"n": (1, 2.5, "x", True), "s": "skus.csv:sku"}
    assert [(group.names, group.rows) for group in found.values] == [
        (("n",), ((1,), (2.5,), ("x",), (True,))), (("s",), (("A",),))
    ]  # fmt: skip


@pytest.mark.parametrize("given", NAMES_SERVICE)
def test_a_service_without_requests_is_refused_in_one_line_with_the_option_that_is_missing(given: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"which requests do users make\? Add --request /PATH or ") as refused:
        resolve(RunArguments(**given))  # type: ignore[arg-type]
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"profile": "ftp://127.0.0.1/x"}, "expected http://HOST.*, got 'ftp://127.0.0.1/x'"),
        ({"profile": "http://127.0.0.1:99999"}, "expected http://HOST.*, got 'http://127.0.0.1:99999'"),
        ({"profile": "127.0.0.1:9/items"}, "the URL of a service is http://127.0.0.1:9/items"),
        ({"profile": f"{URL}/a//b.toml", "host": URL}, f"{URL}/a//b.toml: cannot be combined with --host"),
        ({"profile": f"{URL}/items", "requests": ("/a",)}, "add --request /items"),
        ({"requests": ("/items",)}, "--request: expected the service beside it"),
        ({"requests": (f"{URL}/a", "http://127.0.0.1:8/a")}, "--request: expected the service beside it"),
        ({"host": URL, "requests": ("http://127.0.0.1:8/a",)}, "http://127.0.0.1:8/a is not at http://127.0.0.1:9"),
        ({"profile": "mixed", "requests": ("/a",)}, "--request: cannot be combined with a profile"),
        ({"locustfile": Path("x.py"), "requests": ("/a",)}, "--request: cannot be combined with -f"),
        ({"profile": URL, "requests": ("/a?b={{c}}",)}, "--request: {{c}} needs --values c=A,B,C or c=FILE.csv"),
        ({"profile": f"{URL}/a?b={{{{c}}}}", "values": ("c",)}, "--values: expected NAME=A,B,C or NAME=FILE.csv.*, got 'c'"),
        ({"profile": "mixed", "values": ("c=1",)}, "--values: needs --request; a profile has .users.values."),
        ({"profile": "http://192.0.2.1/a"}, "load to 192.0.2.1 is not allowed: only loopback, or add --allow-host 192.0.2.1"),
        ({"profile": "me/gone.toml"}, "^me/gone.toml: no such profile"),
    ],
)
def test_what_cannot_be_run_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(RunArguments(**given))  # type: ignore[arg-type]


def test_without_anything_of_ones_own_the_sample_is_run() -> None:
    assert resolve(RunArguments()).name == "sleepers"


@pytest.mark.parametrize("given", [{}, {"host": URL}])
@pytest.mark.parametrize("file", ["locustfile.py", "shop.toml", "profiles/shop.toml"])
def test_the_locustfile_or_the_only_profile_of_the_folder_is_offered(
    file: str, given: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "profiles").mkdir()
    (folder / file).write_text("" if file.endswith(".py") else PROFILE)
    with pytest.raises(InputError, match=f"this folder has `run (-f )?{Path(file).stem}"):
        resolve(RunArguments(**given))  # type: ignore[arg-type]
    answer(monkeypatch, "")
    found = resolve(RunArguments(**given))  # type: ignore[arg-type]
    assert found.name == Path(file).stem
    assert found.url == (URL if given or file.endswith("toml") else None)
    answer(monkeypatch, "n")
    with pytest.raises(InputError, match="expected what to run"):
        resolve(RunArguments(**given))  # type: ignore[arg-type]


def test_of_several_profiles_in_the_folder_none_is_chosen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("shop", "cart"):
        (folder / f"{name}.toml").write_text(PROFILE)
    answer(monkeypatch, "")
    with pytest.raises(InputError, match="this folder has `run cart`, `run shop`; the sample is `run sleepers`"):
        resolve(RunArguments())


@pytest.mark.parametrize(
    ("given", "load", "profile"),
    [
        (["mixed"], None, "mixed"),
        (["mixed", "--autopilot"], "users", "mixed"),
        (["--autopilot", "mixed"], "users", "mixed"),
        (["--autopilot", "rate", "mixed"], "rate", "mixed"),
        (["mixed", "--autopilot", "rate"], "rate", "mixed"),
        (["--autopilot=rate"], "rate", None),
        (["--autopilot", "--headless", "mixed"], "users", "mixed"),
    ],
)
def test_the_word_after_the_autopilot_option_is_its_value_only_if_it_is_an_axis(
    given: list[str], load: str | None, profile: str | None
) -> None:
    with command.make_context("run", given) as context:
        assert (context.params["autopilot"], context.params["profile"]) == (load, profile)


@pytest.mark.parametrize(("given", "expected"), [(None, "poisson"), ("even", "even"), ("poisson", "poisson")])
def test_the_arrivals_option_overrides_the_profile(given: Arrivals | None, expected: str) -> None:
    assert resolve(RunArguments(profile="sleepers", arrivals=given)).profile.users.arrivals == expected


def test_metrics_are_served_at_the_address_of_the_option(tmp_path: Path) -> None:
    port = free_port()
    given = RunArguments(profile=profile(tmp_path, 'url = "http://127.0.0.1:9"'), metrics=f"[::1]:{port}")
    assert resolve(given).metrics == ("::1", port)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metrics": "9464"}, "--metrics: expected ADDRESS:PORT"),
        ({"metrics": "127.0.0.1:FREE", "sandbox": True}, "--metrics: the run has a network of its own"),
        ({"metrics": "127.0.0.1:FREE", "limits": ("network.somaxconn=64",)}, "--metrics: the run has a network of its own"),
    ],
)
def test_metrics_that_no_scraper_would_reach_are_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    given = given | {"metrics": given["metrics"].replace("FREE", str(free_port()))}
    with pytest.raises(InputError, match=message):
        resolve(RunArguments(profile=profile(tmp_path, 'command = "./shop --port {port}"'), **given))


def test_metrics_at_a_port_in_use_are_refused(tmp_path: Path) -> None:
    with tcp_server() as port, pytest.raises(InputError, match=f"--metrics: 127.0.0.1:{port}: .*in use"):
        resolve(RunArguments(profile=profile(tmp_path, 'url = "http://127.0.0.1:9"'), metrics=f"127.0.0.1:{port}"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (False, None)),
        ({"traceparent": True}, (True, None)),
        ({"trace_url": "http://127.0.0.1/t/{trace_id}"}, (True, "http://127.0.0.1/t/{trace_id}")),
    ],
)
def test_where_traces_are_shown_says_that_there_are_traces(
    given: dict[str, Any], expected: tuple[bool, str | None], tmp_path: Path
) -> None:
    found = resolve(RunArguments(profile=profile(tmp_path, 'url = "http://127.0.0.1:9"'), **given))
    assert (found.traceparent, found.trace_url) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"trace_url": "http://127.0.0.1/t/"}, "--trace-url: expected .*{trace_id}"),
        ({"trace_url": "127.0.0.1/{trace_id}"}, "--trace-url: expected http"),
        ({"traceparent": True, "bind": "127.0.0.1:5557", "plain_workers": True}, "--traceparent: plain Locust workers"),
    ],
)
def test_traces_that_could_not_be_shown_or_sent_are_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        resolve(RunArguments(profile=profile(tmp_path, 'url = "http://127.0.0.1:9"'), **given))


KNEE, P95 = KneeRequired(40.0), PercentileRequired(95.0, 300.0, Users(50))
REQUIRES = '[require]\nall = ["knee >= 40"]\nwithin = "2m"\n'


@pytest.mark.parametrize(
    ("asked", "requirements", "within_s", "autopilot"),
    [
        (RunArguments(requirements=("p95 <= 300ms @ 50", "p95 <= 0.3s @ 50 users")), (P95,), None, "require"),
        (RunArguments(requirements=("knee >= 40",), within="90s"), (KNEE,), 90.0, "require"),
        (RunArguments(requirements=("knee >= 40",), plan="10:30s"), (KNEE,), None, None),
        (RunArguments(requirements=("knee >= 40",), autopilot="rate"), (KNEE,), None, "require"),
        (RunArguments(autopilot="rate"), (), None, "rate"),
        (RunArguments(autopilot="users"), (), None, "knee"),
        (RunArguments(), (), None, None),
    ],
)
def test_requirements_begin_with_the_loads_that_decide_them_unless_a_plan_sets_the_load(
    tmp_path: Path, asked: RunArguments, requirements: tuple[Requirement, ...], within_s: float | None, autopilot: str | None
) -> None:
    found = resolve(replace(asked, profile=profile(tmp_path, 'target = "mixed"')))
    assert (found.requirements, found.within_s, found.autopilot) == (requirements, within_s, autopilot)
    assert found.start_users == 1


@pytest.mark.parametrize(
    ("asked", "requirements", "within_s", "autopilot"),
    [
        (RunArguments(), (KNEE,), 120.0, None),
        (RunArguments(headless=True), (KNEE,), 120.0, "require"),
        (RunArguments(detach=True), (KNEE,), 120.0, "require"),
        (RunArguments(autopilot="users"), (KNEE,), 120.0, "require"),
        (RunArguments(requirements=("p95 <= 300ms @ 50",), within="5m"), (KNEE, P95), 300.0, "require"),
    ],
)
def test_a_person_on_the_screen_decides_when_what_the_profile_requires_is_looked_at(
    tmp_path: Path, asked: RunArguments, requirements: tuple[Requirement, ...], within_s: float, autopilot: str | None
) -> None:
    (path := tmp_path / "shop.toml").write_text(f'target = "mixed"\n{TASK}{REQUIRES}')
    found = resolve(replace(asked, profile=str(path)))
    assert (found.requirements, found.within_s, found.autopilot) == (requirements, within_s, autopilot)


def test_stacks_are_sampled_at_the_knee_of_the_autopilot_and_in_a_plan_by_its_own_step() -> None:
    asked = RunArguments(profile="mixed", autopilot="users", profile_at="knee")
    assert resolve(asked).profile_at_knee
    assert not resolve(replace(asked, profile_at=None)).profile_at_knee
    with pytest.raises(InputError, match="--profile-at: cannot be combined with --plan"):
        resolve(replace(asked, autopilot=None, plan="10:30s"))


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        ("", RunArguments(requirements=("p95 <= 300ms",)), "--require: expected one like"),
        ("", RunArguments(requirements=("p95 <= 300ms @ 5000",)), "--require: 5000 users exceed guards.max_users (2000)"),
        ("", RunArguments(within="5m"), "--within: needs --require"),
        ("", RunArguments(requirements=("knee >= 4",), within="long"), "--within: expected a duration like"),
        (
            "",
            RunArguments(requirements=("p95 <= 3ms @ 5/s",), plain_workers=True, bind="127.0.0.1:1"),
            "--require: plain Locust workers cannot be offered a rate",
        ),
        ('[require]\nall = ["knee > 4"]', RunArguments(), "shop.toml: require.all: expected one like"),
        (
            '[require]\nall = ["knee >= 4"]\nwithin = "0s"',
            RunArguments(),
            "require.within: expected a duration above 0",
        ),
        ('[require]\nall = "knee >= 4"', RunArguments(), "require.all: expected "),
        ("[require]\nal = []", RunArguments(), "unknown key `require.al`"),
    ],
)
def test_a_mistake_in_a_requirement_is_one_line_with_its_option_or_key(
    tmp_path: Path, text: str, asked: RunArguments, message: str
) -> None:
    (path := tmp_path / "shop.toml").write_text(f'target = "mixed"\n{TASK}{text}\n')
    with pytest.raises(InputError) as raised:
        resolve(replace(asked, profile=str(path)))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
