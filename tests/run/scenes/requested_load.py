"""Observations of the requested load, of the marks of exceptions in user code and of the versions in the header.

Played in a process that gevent has patched, since these modules import the load engine.
"""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import msgspec

from capexplorer.load import native
from capexplorer.load.user_code import UserError, UserErrors
from capexplorer.model.load import Rate, Users
from capexplorer.run.run_failures import UserErrorMarks, cause_of
from capexplorer.run.session_run import VERSIONED, versions
from capexplorer.steer.requested_load import RequestedLoad

from ..bare_context import IdleThread
from ..bare_context import requested_load as idle


def spawn_rates() -> dict[str, dict[str, float]]:
    """By the spawn rate that is set (`None`: automatic), the rate of steps from some users to others."""
    steps = [(0, 10), (10, 11), (0, 500), (500, 400), (10, 10), (50, 0), (700, 0), (0, 0)]
    return {
        str(given): {f"{before} to {users}": idle(Users(before), given).rate(before, users) for before, users in steps}
        for given in (None, 5.0)
    }


def step_at_once_from_a_pool() -> list[float | None]:
    """The spawn rates of a step to 10 users by a driver, which replaces an offered rate with 800 users: at once, and not."""
    rates = []
    for at_once in (True, False):
        load = RequestedLoad(IdleThread(800), Rate(200.0), lock=native.allocate_lock())
        load.open()
        rates.append(load.move(Users(10), load.driver.generation, at_once=at_once))
    return rates


def clamped_rates() -> list[float | None]:
    """The spawn rates that result from setting one that is too low, too high, valid, and none."""
    load, rates = idle(Users(0), 5.0), []
    for rate in (1e-9, 1e300, 7.0, None):
        load.set_spawn_rate(rate)
        rates.append(load.spawn_rate)
    return rates


def step_before_opening() -> dict[str, Any]:
    """The gate of the load is opened after a step, and shut again."""
    load = RequestedLoad(IdleThread(), Users(5), lock=native.allocate_lock())
    observed: dict[str, Any] = {"spawn rate of the step": load.step(Users(8))}
    load.open()
    observed |= {"spawn rate of the start": load.start(), "open after opening": load.is_open}
    load.shut()
    return {**observed, "users after shutting": load.load.users, "open after shutting": load.is_open}


def marks_of_user_errors() -> list[Any]:
    """The mark of each of eight ticks, or None. In ticks 3 to 5, 7 and 8 there are exceptions; the last tick is that of the end.

    The ticks are 10 s apart, but for the fifth, which follows the fourth after 1 s.
    """
    host: Any = SimpleNamespace(errors=UserErrors(), replaced=0)
    errors = UserErrorMarks()
    error = UserError("KeyError", "'x'", "users.py:7 in buy")
    marks: list[Any] = []
    for exceptions, replaced in ((0, 0), (0, 3), (2, 3), (1, 3), (1, 3), (0, 4), (3, 4), (1, 4)):
        host.errors.waiting.extend([error] * exceptions)
        host.replaced = replaced
        t_s = 10.0 * len(marks) if len(marks) != 4 else 31.0
        found = list(errors.marks(host, t_s, epoch=1, load=Users(10), all_changes=len(marks) == 7))
        marks.append(msgspec.to_builtins(found[0]) if found else None)
    assert host.errors.waiting == deque([])
    return marks


def causes_of_exceptions(raised: list[list[str]]) -> list[str]:
    """The cause of each exception of user code, given as (type, text)."""
    return [cause_of(UserError(kind, text, "users.py:7 in buy")) for kind, text in raised]


def marks_of_a_name_that_does_not_resolve() -> list[Any]:
    """The keys and severities of the marks after one exception of the resolver and one of the code."""
    host: Any = SimpleNamespace(errors=UserErrors(), replaced=0)
    host.errors.waiting.extend(
        [UserError("gaierror", "[Errno -2] Name or service not known", ""), UserError("KeyError", "'x'", "")]
    )
    return [[mark.key, mark.severity] for mark in UserErrorMarks().marks(host, 20.0, epoch=1, load=Users(10))]


def header_versions() -> dict[str, Any]:
    """The names of versions in the header, those that it should have, and those without a value."""
    found = versions()
    return {
        "names": sorted(found),
        "expected": sorted((*VERSIONED, "python")),
        "unknown": [name for name, version in found.items() if not version],
    }
