"""Errors of user code are counted, and the load thread continues; if it ends, that is reported."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import gevent
import pytest
from locust import User, constant
from locust.exception import RescheduleTask

from capexplorer.load import locust_bounds, native
from capexplorer.load.engine import RunnerEnded

from .children import started
from .rig import Rig, user_class

pytestmark = pytest.mark.slow

Make = Callable[..., Rig]


def _exits(user: User) -> None:
    sys.exit(3)


def _exits_beside(user: User) -> None:
    gevent.spawn(sys.exit, 3).join()


def _raises(error: type[BaseException]) -> Callable[[User], None]:
    def body(user: User) -> None:
        raise error

    return body


def _go_on(made: Rig, errors: int) -> set[str]:
    """Types of the errors of two users, once as many were counted: both run, and so does the load thread."""
    made.host.set_users(2, 100.0)
    made.until(lambda: made.spawned(2) == 1)
    made.until(lambda: len(made.host.errors.waiting) >= errors)
    assert made.reaches(2)
    assert made.host.stop()
    assert made.host.ended_by is None
    return {each.type for each in made.host.errors.waiting}


@pytest.mark.parametrize(
    ("body", "types"),
    [
        (_exits, {"SystemExit"}),
        (_exits_beside, {"SystemExit"}),
        *((_raises(error), {error.__name__}) for error in (KeyboardInterrupt, GeneratorExit, SystemError, gevent.Timeout)),
    ],
)
def test_an_exception_of_a_task_is_counted_and_the_load_thread_continues(rig: Make, body: Any, types: set[str]) -> None:
    def after_a_wait(user: User) -> None:
        user.wait()  # type: ignore[no-untyped-call]
        body(user)

    assert _go_on(rig(user_class("Hostile", tasks=[after_a_wait], wait_time=constant(0.3))), errors=3) == types


def _kills(user: User) -> None:
    gevent.sleep(0.3)
    gevent.getcurrent().kill()


@pytest.mark.parametrize("body", [_kills, _raises(RescheduleTask)])
def test_users_that_end_or_reschedule_themselves_raise_no_error(rig: Make, body: Any) -> None:
    assert _go_on(rig(user_class("Hostile", tasks=[body])), errors=0) == set()


def _exits_after_a_wait(self: User) -> None:
    gevent.sleep(0.3)
    sys.exit(1)


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        pytest.param(user_class("U", on_start=_exits_after_a_wait), {"SystemExit"}, id="on_start"),
        pytest.param(type("Empty", (User,), {"wait_time": constant(0.05)}), {"Exception"}, id="no tasks"),
    ],
)
def test_exceptions_outside_of_tasks_are_counted_too(rig: Make, kind: type[User], types: set[str]) -> None:
    assert _go_on(rig(kind), errors=3) == types


def test_exits_of_init_are_counted_too(rig: Make) -> None:
    made = rig(user_class("U", __init__=lambda self, environment: sys.exit("not made")))
    made.host.set_users(2, 100.0)
    made.until(lambda: made.spawned(2) == 1 and bool(made.host.errors.waiting))


def test_an_error_that_locust_reports_before_it_ends_the_user_counts_once(rig: Make) -> None:
    """Locust reports an exception in `on_start` before it ends the user."""
    made = rig(user_class("U", on_start=lambda self: dict[str, str]()["seat"]))
    made.host.set_users(1, 100.0)
    made.until(lambda: made.host.replaced >= 2)
    made.host.stop()
    assert len(made.host.errors.waiting) - made.host.replaced in (0, 1)  # the latest may not be replaced yet


@pytest.mark.parametrize("wait", ["soon", None, -1, math.nan, math.inf], ids=str)
def test_an_invalid_wait_time_is_a_user_error_and_not_a_wait(rig: Make, wait: Any) -> None:
    made = rig(user_class("Waiter", wait_time=lambda self: wait))
    made.host.set_users(1, 100.0)
    made.until(lambda: len(made.host.errors.waiting) >= 2)
    error, tick = made.host.errors.waiting[0], made.host.recorder.drain(0.0, 0)
    assert error.type == "WaitTimeError"
    assert error.text.startswith(f"wait_time of Waiter returned {wait!r}: ")
    assert (tick.waits, tick.wait_sum_s) == (0, 0.0)


def _never_stops(user: User) -> None:
    gevent.sleep(1e6)


@pytest.fixture
def short_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locust_bounds, "STALLED_S", 2.0)
    monkeypatch.setattr(locust_bounds, "LAST_STOPS_S", 1.0)


@pytest.mark.usefixtures("short_bounds")
def test_an_on_stop_that_never_returns_does_not_block_a_step_and_is_named(rig: Make) -> None:
    """The step down continues without that user, whose sleep is interrupted."""
    made = rig(user_class("U", on_stop=_never_stops))
    for users in (2, 1, 3):
        made.host.set_users(users, 100.0)
        made.until(lambda users=users: made.spawned(users) == 1)  # type: ignore[misc]
        assert made.reaches(users)
    assert made.host.stop()
    texts, lines = zip(*[(each.text, each.line) for each in made.host.errors.waiting], strict=True)
    assert re.fullmatch(r"1 users did not end within \d s 3 users did not end within 1 s", " ".join(texts))
    assert set(lines) == {f"test_user_code.py:{_never_stops.__code__.co_firstlineno + 1} in _never_stops"}


def _delays_the_loop(until: Callable[[], object]) -> None:
    while not until():
        native.sleep(0.1)
        gevent.sleep(0.001)  # of sleep(0) the hub runs up to 50 before it looks at timers: 5 s, of the 10 s that stop() waits


@pytest.mark.usefixtures("short_bounds")
@pytest.mark.parametrize(
    ("on_stop", "is_late", "why"),
    [(staticmethod(partial(gevent.sleep, 1e6)), False, ""), (_never_stops, True, ": the load thread is too busy, or has no CPU")],
    ids=["no code of the user's own", "a loop that is late, as where a quota takes the CPU"],
)
def test_users_that_do_not_end_are_an_error_of_user_code_only_if_it_holds_them_while_the_loop_is_in_time(
    rig: Make, caplog: pytest.LogCaptureFixture, on_stop: Any, is_late: bool, why: str
) -> None:
    made = rig(user_class("U", on_stop=on_stop))

    def reported() -> list[str]:
        return [each.text for each in made.host.errors.waiting] or [each for each in caplog.messages if "did not end" in each]

    made.host.set_users(3, 100.0)
    assert made.reaches(3)
    if is_late:
        made.host.call(lambda: gevent.spawn(_delays_the_loop, reported))
    assert made.host.stop()
    assert reported() == [f"3 users did not end within 1 s{why}"]
    assert list(made.host.errors.waiting) == []


def test_users_can_start_child_processes_and_wait_for_them(rig: Make) -> None:
    """In two users at the same time, each of which waits for its own child processes."""
    found: list[dict[str, Any]] = []

    def start(user: User) -> None:
        late = subprocess.Popen(["sleep", "100"])
        with pytest.raises(subprocess.TimeoutExpired):
            late.wait(timeout=0.1)
        late.kill()
        with pytest.raises(FileNotFoundError):
            subprocess.run(["/no/such/program"], check=False)
        found.append({**started(), "killed": late.wait()})
        user.wait()  # type: ignore[no-untyped-call]

    made = rig(user_class("Hostile", tasks=[start]))
    made.host.set_users(2, 100.0)
    made.until(lambda: len(found) >= 2 or bool(made.host.errors.waiting))
    assert list(made.host.errors.waiting) == []
    expected = {"run": "hi", "communicate": ("through", 0), "fork": 5, "multiprocessing": 6, "system": 3, "killed": -9}
    assert found[:2] == [expected, expected]


@pytest.mark.parametrize("how", ["stop", "quit"])
def test_after_a_locustfile_ended_the_load_a_step_starts_users_again(rig: Make, how: str) -> None:
    fired: list[str] = []
    kind = user_class(
        "U",
        tasks=[lambda user: getattr(user.environment.runner, how)()],
        on_stop=lambda self: fired.append("on_stop"),
    )
    made = rig(kind)
    made.host._environment.events.test_stop.add_listener(lambda **_: fired.append("test_stop"))
    made.host.set_users(3, 100.0)
    made.until(lambda: sum(isinstance(each, RunnerEnded) for each in made.reports) == 1)
    made.host.set_users(0, 100.0)
    made.until(lambda: made.spawned(0) == 1 and made.reaches(0))
    kind.tasks = [lambda user: None]
    made.host.set_users(2, 100.0)
    made.until(lambda: made.spawned(2) == 1 and made.reaches(2))
    assert (fired.count("test_stop"), "on_stop" in fired) == (1, True)


def test_a_destroyed_hub_ends_the_load_thread_and_is_reported(rig: Make) -> None:
    made = rig(user_class("Hostile", tasks=[lambda user: gevent.get_hub().destroy(destroy_loop=True)]))
    made.host.set_users(1, 100.0)
    made.until(lambda: made.host.has_ended)
    assert made.host.users == 0
    assert made.host.ended_by is not None
