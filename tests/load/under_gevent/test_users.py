"""Users send the requests that a profile declares; a wrong locustfile is refused in one line."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from capexplorer.errors import InputError
from capexplorer.load import native, variables, workload
from capexplorer.load.load_thread import LoadThread
from capexplorer.load.recorder import RecordedTick
from capexplorer.load.variables import DrawnTogether
from capexplorer.profile import Users


def _profile(**fields: Any) -> Users:
    return msgspec.convert({"task": [{"name": "/ok"}], **fields}, Users)


def _run(
    declared: Users,
    url: str,
    enough: Callable[[list[RecordedTick]], bool],
    count: int = 2,
    groups: tuple[DrawnTogether, ...] = (),
) -> list[RecordedTick]:
    """The ticks of users of a profile until `enough` (within 20 s)."""
    host = LoadThread(lambda report: None)
    host.start()
    host.make_workload(lambda: workload.from_profile(declared, url, groups), url, own_events=True)
    host.set_users(count, 100.0)
    ticks: list[RecordedTick] = []
    deadline_s = time.monotonic() + 20
    while not enough(ticks):
        assert time.monotonic() < deadline_s, "not enough in time"
        native.sleep(0.05)
        ticks.append(host.recorder.drain(0.0, 0))
    host.stop()
    ticks.append(host.recorder.drain(0.0, 0))
    return ticks


def _requests(least: int) -> Callable[[list[RecordedTick]], bool]:
    return lambda ticks: sum(tick.all_requests for tick in ticks) >= least


def _by_name(ticks: list[RecordedTick]) -> dict[str, int]:
    found: dict[str, int] = {}
    for tick in ticks:
        for each in tick.endpoints:
            found[each.name] = found.get(each.name, 0) + each.requests + each.warmup_requests
    return found


def _counted(url: str) -> tuple[int, dict[str, int]]:
    """(connections, requests by path) as the server counts them, over a connection of its own."""
    with urllib.request.urlopen(f"{url}/connections", timeout=10) as response:
        return int(response.headers["X-Connections"]), json.loads(response.headers["X-Requests"])


CLIENTS = pytest.mark.parametrize("client", ["fast", "requests", "lean"])

LOCUSTFILES: dict[str, tuple[str | bytes | None, str]] = {
    "syntax": ("from locust import HttpUser\n\nclass U(HttpUser)\n    pass\n", "syntax.py:3: expected ':'"),
    "raises": ("import locust\n\nraise ValueError('no\\nway')\n", "raises.py:3: ValueError on import: no"),
    "raises_deep": (
        "def helper():\n    return 1 / 0\n\nfrom locust import User\nvalue = helper()\n",
        "raises_deep.py:2: ZeroDivisionError on import: division by zero",
    ),
    "exits": ("import sys\nsys.exit('bye')\n", "exits.py:2: SystemExit on import: bye"),
    "imports_nothing": ("import no_such_module_at_all\n", "imports_nothing.py:1: ModuleNotFoundError on import: No module named"),
    "imports_a_part_that_is_not": (
        "import redis.no_such_part\n",
        "imports_a_part_that_is_not.py:1: ModuleNotFoundError on import: No",
    ),
    "lean_proxy": (
        "from capexplorer.users import LeanHttpUser\n\nclass U(LeanHttpUser):\n    proxy_host = 'p'\n",
        "lean_proxy.py:3: U: LeanHttpUser does not take `proxy_host`",
    ),
    "no_users": ("from locust import HttpUser\n", "no_users.py: no user classes with a weight above 0"),
    "only_abstract": (
        "from locust import HttpUser\nclass Base(HttpUser):\n    abstract = True\n",
        "only_abstract.py: no user classes with a weight above 0",
    ),
    "weight_zero": (
        "from locust import HttpUser\nclass U(HttpUser):\n    host = 'http://127.0.0.1'\n    weight = 0\n",
        "weight_zero.py: no user classes with a weight above 0",
    ),
    "old": (
        "from locust import HttpLocust, TaskSet\nclass U(HttpLocust):\n    task_set = TaskSet\n    host = 'http://127.0.0.1'\n",
        "old.py:2: HttpLocust is from before Locust 1.0: derive from HttpUser, and `task_set` is `tasks`",
    ),
    "no_host": (
        "from locust import HttpUser, task\nclass Alice(HttpUser):\n    @task\n    def t(self):\n        pass\n",
        "no_host.py: Alice has no host; give --host URL or a profile with a target",
    ),
    "not_utf8": (b"# caf\xe9\nfrom locust import HttpUser\n", "not_utf8.py:"),
    "gone": (None, "gone.py: no such locustfile"),
    "own_host": (
        dedent("""
        from locust import FastHttpUser, HttpUser, LoadTestShape, User, task
        class One(HttpUser):
            host = "http://127.0.0.1:9"
        class Two(User):
            fixed_count = 1
            weight = 0
        class Idle(FastHttpUser):
            weight = 0
        class Wave(LoadTestShape):
            def tick(self):
                return None
        """),
        "['One', 'Two'] ['http://127.0.0.1:9', 'None'] Wave",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), [(name, *case) for name, case in LOCUSTFILES.items()], ids=LOCUSTFILES)
def test_a_locustfile_is_accepted_or_refused_in_one_line(
    tmp_path: Path, name: str, text: str | bytes | None, message: str
) -> None:
    path = tmp_path / f"{name}.py"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        found = workload.from_locustfile(path, None)
    except InputError as error:
        assert "\n" not in str(error)
        assert str(error).removeprefix(f"{tmp_path}/").startswith(message)
    else:
        hosts = [str(kind.host) for kind in found.classes]
        assert f"{[kind.__name__ for kind in found.classes]} {hosts} {type(found.shape).__name__}" == message


def test_a_given_url_replaces_the_users_own_host(tmp_path: Path) -> None:
    path = tmp_path / "own_host.py"
    path.write_text(str(LOCUSTFILES["own_host"][0]))
    assert [kind.host for kind in workload.from_locustfile(path, "http://127.0.0.1:1").classes] == ["http://127.0.0.1:1"] * 2


def test_every_kind_of_wait_has_the_times_of_locust() -> None:
    class FakeUser:
        _cp_last_run, _cp_last_wait_time = 0.0, 0.0

    declared = {
        "number": 0.25, "constant": {"constant": 0.5}, "between": {"between": [0.1, 0.5]}, "poisson": {"poisson": 4.0},
        "pacing": {"constant_pacing": 2.0}, "throughput": {"constant_throughput": 0.5},
    }  # fmt: skip
    found = {}
    for name, wait in declared.items():
        function = workload.wait_time(_profile(wait_s=wait).wait_s)
        user = FakeUser()
        user._cp_last_run = time.perf_counter()
        found[name] = [function(user) for _ in range(2000 if name in ("between", "poisson") else 1)]
    assert (found["number"], found["constant"]) == ([0.25], [0.5])
    assert 0.1 <= min(found["between"]) <= max(found["between"]) <= 0.5
    assert mean(found["between"]) == pytest.approx(0.3, abs=0.03)
    assert mean(found["poisson"]) == pytest.approx(0.25, rel=0.2)
    assert found["pacing"] + found["throughput"] == pytest.approx([2.0, 2.0], abs=0.1)


def test_tasks_are_picked_by_weight(url: str) -> None:
    weights = {"/a": 50, "/b": 30, "/c": 20, "/never": 0}
    declared = _profile(task=[{"name": name, "weight": weight} for name, weight in weights.items()])
    assert len(workload.from_profile(declared, url).classes[0].tasks) == 10  # 5 + 3 + 2: without the greatest common divisor
    found = _by_name(_run(declared, url, _requests(600), count=4))
    assert set(found) == {"/a", "/b", "/c"}
    for name, count in found.items():
        assert count / sum(found.values()) == pytest.approx(weights[name] / 100, abs=0.08)  # 4 sigma at 600 requests


def test_the_clients_in_use_are_known_by_name(url: str) -> None:
    workloads = [workload.from_profile(_profile(client=client), url) for client in ("fast", "requests", "lean")]
    assert [name for made in workloads for name in made.clients] == ["FastHttpUser", "HttpUser", "LeanHttpUser"]


def test_users_with_a_pace_of_their_own_are_recognised(url: str) -> None:
    waits = [{"constant_pacing": 2.0}, {"constant_throughput": 4.0}, {"constant": 2.0}, {"between": [1.0, 2.0]}, 0.0]
    assert [workload.from_profile(_profile(wait_s=wait), url).pacing_s for wait in waits] == [2.0, 0.25, None, None, None]


def test_method_path_and_name_are_as_declared(url: str) -> None:
    task = {"name": "orders", "path": "/orders", "method": "post", "headers": {"X-Test": "1"}, "json": {"n": 1}}
    ticks = _run(_profile(task=[task], wait_s=0.05), url, _requests(4))
    assert {(each.name, each.method, each.failures) for tick in ticks for each in tick.endpoints} == {("orders", "POST", 0)}
    assert _counted(url)[1]["/orders"] >= 4


@CLIENTS
def test_each_request_of_any_client_has_values_of_its_own(url: str, client: str) -> None:
    task = {"name": "row", "path": f"/drawn-{client}-{{{{n}}}}"}
    declared = _profile(task=[task], values={"n": [1, 2]}, client=client, wait_s=0.01)
    ticks = _run(declared, url, _requests(200), groups=variables.read(declared, Path(), ""))
    assert list(_by_name(ticks)) == ["row"]
    asked = {path for path in _counted(url)[1] if path.startswith(f"/drawn-{client}")}
    assert asked == {f"/drawn-{client}-1", f"/drawn-{client}-2"}


@CLIENTS
@pytest.mark.parametrize(
    ("task", "failures"),
    [
        ({"path": "/404", "expect_status": 404}, set()),
        ({"path": "/201", "expect_status": [200, 201]}, set()),
        ({"path": "/ok", "expect_status": 201}, {("unexpected_status", 200)}),
        ({"path": "/500", "expect_status": 200}, {("unexpected_status", 500)}),
    ],
    ids=["right", "one of", "wrong", "unexpected"],
)
def test_a_status_outside_the_expected_ones_is_a_failure(
    url: str, client: str, task: dict[str, Any], failures: set[tuple[str, int]]
) -> None:
    ticks = _run(_profile(task=[{"name": "x", **task}], client=client, wait_s=0.05), url, _requests(3), count=1)
    assert {(each.signature.text, each.signature.status) for tick in ticks for each in tick.failures} == failures


@CLIENTS
def test_without_a_reply_the_failure_is_the_connections_own(url: str, client: str) -> None:
    task = {"name": "gone", "path": "/reset", "expect_status": 200}
    ticks = _run(_profile(task=[task], client=client, wait_s=0.05), url, _requests(3), count=1)
    texts = {each.signature.text for tick in ticks for each in tick.failures}
    assert texts
    assert not any("unexpected_status" in text for text in texts)


@CLIENTS
@pytest.mark.parametrize("path", ["/ok", "/sticky"])
@pytest.mark.parametrize("keep_alive", [True, False])
def test_keep_alive_opens_one_connection_per_user_and_its_absence_one_per_request(
    url: str, client: str, path: str, keep_alive: bool
) -> None:
    before, _ = _counted(url)
    declared = _profile(task=[{"name": "a", "path": path}], client=client, keep_alive=keep_alive, wait_s=0.02)
    ticks = _run(declared, url, _requests(20), count=2)
    opened = _counted(url)[0] - before - 1
    assert sum(len(tick.failures) for tick in ticks) == 0
    if keep_alive:
        assert opened == 2
    else:
        assert opened >= _by_name(ticks)["a"]  # a request in flight at the end opened one too


@pytest.mark.parametrize(("client", "kind"), [("fast", "RetriesExceeded"), ("requests", "ReadTimeout"), ("lean", "TimeoutError")])
def test_the_timeout_of_the_profile_applies(url: str, client: str, kind: str) -> None:
    task = [{"name": "slow", "path": "/hang"}]
    ticks = _run(_profile(task=task, client=client, timeout_s=0.2), url, _requests(2), count=1)
    assert kind in {each for tick in ticks for failure in tick.failures for each in failure.signature.types}
