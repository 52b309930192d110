"""Users of a profile and of locustfiles, run by a real LoadThread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import locust
import msgspec

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
    """The ticks of users of a profile until `enough` (20 s at most)."""
    host = LoadThread(lambda report: None)
    host.start()
    host.make_workload(lambda: workload.from_profile(declared, url, groups), url, own_events=True)
    host.set_users(count, 100.0)
    ticks: list[RecordedTick] = []
    deadline_s = time.monotonic() + 20
    while not enough(ticks) and time.monotonic() < deadline_s:
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


def wait_times() -> dict[str, list[float]]:
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
    return {name: [min(each), sum(each) / len(each), max(each)] for name, each in found.items()}


def drawn_requests(url: str) -> list[dict[str, int]]:
    """The requests by name of users of each client, whose task has a value of its own in each request."""
    found = []
    for client in ("fast", "requests", "lean"):
        declared = _profile(
            task=[{"name": "row", "path": f"/drawn-{client}-{{{{n}}}}"}], values={"n": [1, 2]}, client=client, wait_s=0.01
        )
        groups = variables.read(declared, Path(), "")
        found.append(_by_name(_run(declared, url, _requests(200), groups=groups)))
    return found


def weights(url: str) -> dict[str, Any]:
    tasks = [
        {"name": "/a", "weight": 50},
        {"name": "/b", "weight": 30},
        {"name": "/c", "weight": 20},
        {"name": "/never", "weight": 0},
    ]
    made = workload.from_profile(_profile(task=tasks), url).classes[0].tasks
    seen = _by_name(_run(_profile(task=tasks), url, _requests(600), count=4))
    return {"tasks": len(made), "seen": seen}


def all_clients(url: str) -> list[str]:
    workloads = [workload.from_profile(_profile(client=client), url) for client in ("fast", "requests", "lean")]
    return [name for made in workloads for name in made.clients]


def paces(url: str) -> list[float | None]:
    waits = [{"constant_pacing": 2.0}, {"constant_throughput": 4.0}, {"constant": 2.0}, {"between": [1.0, 2.0]}, 0.0]
    return [workload.from_profile(_profile(wait_s=wait), url).pacing_s for wait in waits]


def whole_requests(url: str) -> dict[str, Any]:
    """A request with method, path, headers and JSON; the server counts requests by path."""
    task = {"name": "orders", "path": "/orders", "method": "post", "headers": {"X-Test": "1"}, "json": {"n": 1}}
    ticks = _run(_profile(task=[task], wait_s=0.05), url, _requests(4))
    endpoint = next(each for tick in ticks for each in tick.endpoints)
    return {"name": endpoint.name, "method": endpoint.method, "failures": sum(len(tick.failures) for tick in ticks)}


def expected_statuses(url: str) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = [
        {"name": "right", "path": "/404", "expect_status": 404},
        {"name": "one of", "path": "/201", "expect_status": [200, 201]},
        {"name": "wrong", "path": "/ok", "expect_status": 201},
        {"name": "unexpected", "path": "/500", "expect_status": 200},
        {"name": "plain 500", "path": "/500"},
        {"name": "gone", "path": "/reset", "expect_status": 200},
    ]
    found: dict[str, Any] = {}
    for client in ("fast", "requests", "lean"):
        for task in tasks:
            ticks = _run(_profile(task=[task], client=client, wait_s=0.05), url, _requests(3), count=1)
            reported = [each.signature for tick in ticks for each in tick.failures]
            failures = {" ".join(filter(None, (each.text, str(each.status or "")))) for each in reported}
            found[f"{client} {task['name']}"] = sorted(failures)
    return found


def connections(url: str) -> dict[str, Any]:
    """[requests, connections, failures] by client, keep-alive and path."""
    made = {}
    for client in ("fast", "requests", "lean"):
        for keep_alive in (True, False):
            for path in ("/ok", "/sticky"):
                name = f"{client}-{'kept' if keep_alive else 'closed'}-{path[1:]}"
                before = _connections(url)
                task = [{"name": name, "path": path}]
                ticks = _run(_profile(task=task, client=client, keep_alive=keep_alive, wait_s=0.02), url, _requests(20), count=2)
                made[name] = [_by_name(ticks)[name], _connections(url) - before - 1, sum(len(tick.failures) for tick in ticks)]
    return made


def _connections(url: str) -> int:
    """The server's own count, over a connection of its own."""
    import urllib.request

    with urllib.request.urlopen(f"{url}/connections", timeout=10) as response:
        return int(response.headers["X-Connections"])


def timeouts(url: str) -> dict[str, list[str]]:
    found = {}
    for client in ("fast", "requests", "lean"):
        task = [{"name": "slow", "path": "/hang"}]
        ticks = _run(_profile(task=task, client=client, timeout_s=0.2), url, _requests(2), count=1)
        found[client] = sorted({kind for tick in ticks for each in tick.failures for kind in each.signature.types})
    return found


def locustfiles(folder: str) -> dict[str, str]:
    """The error of each wrong locustfile, or what was found in it."""
    texts = {}
    for path in sorted(Path(folder).glob("*.py")) + [Path(folder) / "gone.py"]:
        try:
            found = workload.from_locustfile(path, None)
        except InputError as error:
            texts[path.stem] = str(error).removeprefix(f"{folder}/")
        else:
            hosts = [str(kind.host) for kind in found.classes]
            texts[path.stem] = f"{[kind.__name__ for kind in found.classes]} {hosts} {type(found.shape).__name__}"
    return texts


def a_given_url_replaces_the_users_own_host(folder: str) -> list[str | None]:
    return [kind.host for kind in workload.from_locustfile(Path(folder) / "own_host.py", "http://127.0.0.1:1").classes]


def versions() -> str:
    return str(locust.__version__)
