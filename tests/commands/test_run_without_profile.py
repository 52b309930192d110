"""`capexplorer run` without a profile: a URL, requests, or what the working folder has; never the sample's requests to a service
that the command line names."""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import pytest

from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.errors import InputError
from capexplorer.load import variables
from capexplorer.run.options import RunOptions

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
    assert resolve(RunArguments()).name == "mixed"


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
    with pytest.raises(InputError, match="this folder has `run cart`, `run shop`; the sample is `run mixed`"):
        resolve(RunArguments())
