"""User code that raises what would end a thread, returns invalid wait times, never returns, or starts processes."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import partial
from typing import Any

import gevent
from locust import User, constant
from locust.exception import RescheduleTask, StopUser

from capexplorer.load import locust_bounds
from capexplorer.load.engine import RunnerEnded

from .children import started
from .rig import Idle, Rig, user_class


def _task(body: Any, **attributes: Any) -> type[User]:
    return user_class("Hostile", tasks=[body], **attributes)


def _played(kind: type[User], errors: int = 3, *, are_made: bool = True) -> dict[str, Any]:
    """What is observed of two such users, until `errors` errors were counted. `are_made`: they can run at all."""
    rig = Rig(kind)
    rig.host.set_users(2, 100.0)
    reported = rig.until(lambda: rig.spawned(2) == 1)
    counted = rig.until(lambda: len(rig.host.errors.waiting) >= errors)
    there = are_made and rig.reaches(2)
    types = sorted({each.type for each in rig.host.errors.waiting})
    return {
        "step reported": reported, "errors counted": counted, "both users run": there, "types of errors": types,
        "stopped in time": rig.host.stop(), "load thread alive until then": rig.host.ended_by is None,
    }  # fmt: skip


def raising() -> dict[str, Any]:
    def exits(user: User) -> None:
        user.wait()  # type: ignore[no-untyped-call]
        sys.exit(3)

    def raises(error: type[BaseException]) -> Any:
        def body(user: User) -> None:
            user.wait()  # type: ignore[no-untyped-call]
            raise error

        return body

    def beside(user: User) -> None:
        gevent.spawn(sys.exit, 3).join()

    Idle.wait_time = constant(0.3)
    found = {"sys.exit": _played(_task(exits)), "beside": _played(_task(beside))}
    for error in (KeyboardInterrupt, GeneratorExit, SystemError, gevent.Timeout):
        found[error.__name__] = _played(_task(raises(error)))
    Idle.wait_time = constant(0.05)
    return found


def exits_in_on_start_and_in_init() -> list[dict[str, Any]]:
    def init(self: User, environment: Any) -> None:
        sys.exit("not made")

    def on_start(self: User) -> None:
        gevent.sleep(0.3)
        sys.exit(1)

    return [_played(user_class("U", on_start=on_start)), _played(user_class("U", __init__=init), 1, are_made=False)]


def each_death_counts_once() -> int:
    """Errors beyond one a replaced user: Locust reports an exception in `on_start` before it ends the user."""
    rig = Rig(user_class("U", on_start=lambda self: dict[str, str]()["seat"]))
    rig.host.set_users(1, 100.0)
    rig.until(lambda: rig.host.replaced >= 2)
    rig.host.stop()
    return len(rig.host.errors.waiting) - rig.host.replaced


def _same(value: object) -> Any:
    return value


def waits() -> dict[str, Any]:
    def raises(user: User) -> float:
        raise ZeroDivisionError

    wrong: dict[str, Any] = {"text": "soon", "none": None, "negative": -1, "nan": math.nan, "inf": math.inf}
    times = {name: partial(_same, value) for name, value in wrong.items()} | {"raises": raises}
    found: dict[str, Any] = {}
    for name, wait_time in times.items():
        rig = Rig(user_class("Waiter", wait_time=wait_time))
        rig.host.set_users(1, 100.0)
        rig.until(lambda rig=rig: len(rig.host.errors.waiting) >= 2)  # type: ignore[misc]
        error = rig.host.errors.waiting[0]
        tick = rig.host.recorder.drain(0.0, 0)
        found[name] = [f"{error.type}: {error.text}", tick.waits, tick.wait_sum_s, rig.host.stop()]
    return found


def odd_requests() -> dict[str, Any]:
    """Request events that user code fires itself, with invalid response times."""
    found: dict[str, Any] = {}
    for name, response_time in {"nan": math.nan, "inf": math.inf, "text": "soon"}.items():

        def fire(user: User, name: str = name, response_time: Any = response_time) -> None:
            fired = user.environment.events.request.fire
            fired(request_type="X", name=name, response_time=response_time, response_length=3)
            fired(request_type="X", name="well", response_time=2.0, response_length=3)

        rig = Rig(_task(fire))
        rig.host.set_users(1, 100.0)
        rig.until(lambda rig=rig: len(rig.host.errors.waiting) >= 3)  # type: ignore[misc]
        names = [endpoint.name for endpoint in rig.host.recorder.drain(0.0, 0).endpoints]
        error = rig.host.errors.waiting[0]
        found[name] = [f"{error.type}: {error.text}", names, rig.host.stop()]
    return found


def users_that_end_by_themselves() -> dict[str, Any]:
    def kills(user: User) -> None:
        gevent.sleep(0.3)
        gevent.getcurrent().kill()

    def stops(user: User) -> None:
        gevent.sleep(0.3)
        raise StopUser

    def reschedules(user: User) -> None:
        raise RescheduleTask

    return {body.__name__: _played(_task(body), 0) for body in (kills, stops, reschedules)}


def no_tasks() -> dict[str, Any]:
    class Empty(User):
        wait_time = constant(0.05)

    return _played(Empty)


def an_on_stop_that_never_returns() -> list[Any]:
    """The step down continues without that user, whose sleep is interrupted."""
    locust_bounds.STALLED_S = 2.0
    rig = Rig(user_class("U", on_stop=lambda self: gevent.sleep(1e6)))
    rig.host.set_users(2, 100.0)
    rig.until(lambda: rig.spawned(2) == 1)
    rig.host.set_users(1, 100.0)
    found = [rig.until(lambda: rig.spawned(1) == 1), rig.reaches(1)]
    rig.host.set_users(3, 100.0)
    found += [rig.until(lambda: rig.spawned(3) == 1)]
    locust_bounds.LAST_STOPS_S = 1.0
    return [*found, rig.host.stop(), [each.text for each in rig.host.errors.waiting]]


def children() -> dict[str, Any]:
    """In two users at the same time, each of which waits for its own child processes."""
    found: list[dict[str, Any]] = []

    def start(user: User) -> None:
        late = subprocess.Popen(["sleep", "100"])
        try:
            late.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            late.kill()
        found.append({**started(), "killed": late.wait(), "missing": _missing()})
        user.wait()  # type: ignore[no-untyped-call]

    rig = Rig(_task(start))
    rig.host.set_users(2, 100.0)
    rig.until(lambda: len(found) >= 2 or bool(rig.host.errors.waiting))
    errors = [f"{each.type}: {each.text} {each.line}" for each in rig.host.errors.waiting]
    watched: int = rig.host.call(lambda: len(gevent.get_hub().loop.watched))
    return {"found": found[:2], "errors": errors, "stopped": rig.host.stop(), "watched": watched}


def _missing() -> str:
    try:
        subprocess.run(["/no/such/program"], check=False)
    except FileNotFoundError as error:
        return type(error).__name__
    return "ran"


def ended_by_the_locustfile() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for how in ("stop", "quit"):

        def end(user: User, how: str = how) -> None:
            getattr(user.environment.runner, how)()

        fired: list[str] = []
        kind = user_class("U", tasks=[end], on_stop=lambda self, fired=fired: fired.append("on_stop"))
        rig = Rig(kind)
        rig.host._environment.events.test_stop.add_listener(lambda fired=fired, **_: fired.append("test_stop"))
        rig.host.set_users(3, 100.0)
        reported = rig.until(lambda rig=rig: sum(isinstance(each, RunnerEnded) for each in rig.reports) == 1)  # type: ignore[misc]
        rig.host.set_users(0, 100.0)
        gone = rig.until(lambda rig=rig: rig.spawned(0) == 1) and rig.reaches(0)  # type: ignore[misc]
        kind.tasks = [lambda user: None]
        rig.host.set_users(2, 100.0)
        again = rig.until(lambda rig=rig: rig.spawned(2) == 1) and rig.reaches(2)  # type: ignore[misc]
        found[how] = [reported, gone, fired.count("test_stop"), fired.count("on_stop") >= 1, again, rig.host.stop()]
    return found


def a_hub_that_is_destroyed() -> list[Any]:
    def destroy(user: User) -> None:
        gevent.get_hub().destroy(destroy_loop=True)

    rig = Rig(_task(destroy))
    rig.host.set_users(1, 100.0)
    return [rig.until(lambda: rig.host.has_ended), rig.host.users, rig.host.ended_by is not None, rig.host.stop()]
