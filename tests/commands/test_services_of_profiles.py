"""Which service a run explores: that of the command line, else the command, URL or target of the profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.errors import InputError

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


def test_the_command_of_a_profile_runs_in_its_folder(tmp_path: Path) -> None:
    service = 'command = "./shop --port {port}"\nready = "/up"\nready_timeout_s = 7'
    found = resolve(RunArguments(profile=profile(tmp_path, service)))
    assert found.spec is not None
    assert found.port is None
    assert (found.spec.name, found.spec.folder) == ("shop", tmp_path)
    assert (found.spec.ready.path, found.spec.ready.timeout_s, found.spec.ready.any_status) == ("/up", 7.0, False)


def test_a_command_with_a_fixed_port_is_checked_at_that_port(tmp_path: Path) -> None:
    service = 'command = "./shop"\nready = "http://127.0.0.1:8123/up?deep=1"'
    found = resolve(RunArguments(profile=profile(tmp_path, service)))
    assert found.spec is not None
    assert (found.port, found.spec.ready.path) == (8123, "/up?deep=1")


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
