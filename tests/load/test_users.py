"""Users send the requests that a profile declares; a wrong locustfile is refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import pytest

from .patched import Played, play
from .servers import Server, server

LOCUSTFILES: dict[str, tuple[str | bytes | None, str]] = {
    "syntax": ("from locust import HttpUser\n\nclass U(HttpUser)\n    pass\n", "syntax.py:3: expected ':'"),
    "raises": ("import locust\n\nraise ValueError('no\\nway')\n", "raises.py:3: ValueError on import: no"),
    "raises_deep": (
        "def helper():\n    return 1 / 0\n\nfrom locust import User\nvalue = helper()\n",
        "raises_deep.py:2: ZeroDivisionError on import: division by zero",
    ),
    "exits": ("import sys\nsys.exit('bye')\n", "exits.py:2: SystemExit on import: bye"),
    "imports_nothing": ("import no_such_module_at_all\n", "imports_nothing.py:1: ModuleNotFoundError on import: No module named"),
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


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture(scope="module")
def seen(served: Server, tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("locustfiles")
    for name, (text, _) in LOCUSTFILES.items():
        if text is not None:
            (folder / f"{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    return play("load.scenes.declared", url=served.url, folder=str(folder))


@pytest.mark.parametrize(("name", "message"), [(name, message) for name, (_, message) in LOCUSTFILES.items()], ids=LOCUSTFILES)
def test_a_locustfile_is_accepted_or_refused_in_one_line(seen: Played, name: str, message: str) -> None:
    assert seen["locustfiles"][name].startswith(message)
    assert "\n" not in seen["locustfiles"][name]


def test_a_given_url_replaces_the_users_own_host(seen: Played) -> None:
    assert seen["a_given_url_replaces_the_users_own_host"] == ["http://127.0.0.1:1"] * 2


def test_every_kind_of_wait_has_the_times_of_locust(seen: Played) -> None:
    waits = seen["wait_times"]
    assert waits["number"] == [0.25] * 3
    assert waits["constant"] == [0.5] * 3
    assert 0.1 <= waits["between"][0] <= waits["between"][1] <= waits["between"][2] <= 0.5
    assert waits["between"][1] == pytest.approx(0.3, abs=0.03)
    assert waits["poisson"][1] == pytest.approx(0.25, rel=0.2)
    assert waits["pacing"][0] == pytest.approx(2.0, abs=0.1)
    assert waits["throughput"][0] == pytest.approx(2.0, abs=0.1)


def test_tasks_are_picked_by_weight(seen: Played) -> None:
    found = seen["weights"]["seen"]
    total = sum(found.values())
    assert set(found) == {"/a", "/b", "/c"}
    assert seen["weights"]["tasks"] == 10  # 5 + 3 + 2: the greatest common divisor is taken out
    for name, share in (("/a", 0.5), ("/b", 0.3), ("/c", 0.2)):
        assert found[name] / total == pytest.approx(share, abs=0.08)  # 4 sigma at 600 requests


def test_the_clients_in_use_are_known_by_name(seen: Played) -> None:
    assert seen["all_clients"] == ["FastHttpUser", "HttpUser", "LeanHttpUser"]


def test_users_with_a_pace_of_their_own_are_recognised(seen: Played) -> None:
    assert seen["paces"] == [2.0, 0.25, None, None, None]


def test_method_path_and_name_are_as_declared(seen: Played, served: Server) -> None:
    assert seen["whole_requests"] == {"name": "orders", "method": "POST", "failures": 0}
    assert served.requests["/orders"] >= 4


def test_each_request_of_any_client_has_values_of_its_own(seen: Played, served: Server) -> None:
    assert [list(found) for found in seen["drawn_requests"]] == [["row"]] * 3
    for client in ("fast", "requests", "lean"):
        assert {path for path in served.requests if path.startswith(f"/drawn-{client}")} == {
            f"/drawn-{client}-1",
            f"/drawn-{client}-2",
        }


def test_a_status_outside_the_expected_ones_is_a_failure(seen: Played) -> None:
    found = seen["expected_statuses"]
    for client in ("fast", "requests", "lean"):
        assert found[f"{client} right"] == []
        assert found[f"{client} one of"] == []
        assert found[f"{client} wrong"] == ["unexpected_status 200"]
        assert found[f"{client} unexpected"] == ["unexpected_status 500"]
        assert len(found[f"{client} plain 500"]) == 1
        assert found[f"{client} gone"]
        assert "unexpected_status" not in found[f"{client} gone"][0]


@pytest.mark.parametrize("client", ["fast", "requests", "lean"])
@pytest.mark.parametrize("path", ["ok", "sticky"])
def test_keep_alive_opens_one_connection_per_user_and_its_absence_one_per_request(seen: Played, client: str, path: str) -> None:
    requests, connections, failures = seen["connections"][f"{client}-kept-{path}"]
    assert (connections, failures) == (2, 0)
    requests, connections, failures = seen["connections"][f"{client}-closed-{path}"]
    assert failures == 0
    assert connections >= requests  # a request in flight at the end opened one too


@pytest.mark.parametrize(("client", "kind"), [("fast", "RetriesExceeded"), ("requests", "ReadTimeout"), ("lean", "TimeoutError")])
def test_the_timeout_of_the_profile_applies(seen: Played, client: str, kind: str) -> None:
    assert kind in seen["timeouts"][client]
