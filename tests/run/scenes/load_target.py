"""Parts of a run that know the load room."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import msgspec

from capexplorer.load.user_code import UserError, UserErrors
from capexplorer.model.load import Load
from capexplorer.run.drivers.load_target import LoadTarget
from capexplorer.run.header import VERSIONED, versions
from capexplorer.run.user_error_marks import UserErrorMarks


def rates() -> dict[str, list[float]]:
    """(before, users) to a rate, by the spawn rate given; nobody runs."""
    steps = [(0, 10), (10, 11), (0, 500), (500, 400), (10, 10), (50, 0), (700, 0), (0, 0)]
    return {str(given): [LoadTarget(0, given).rate(before, users) for before, users in steps] for given in (None, 5.0)}


def clamped_rates() -> list[float | None]:
    load_target, found = LoadTarget(0, 5.0), []
    for rate in (1e-9, 1e300, 7.0, None):
        load_target.set_spawn_rate(rate)
        found.append(load_target.spawn_rate)
    return found


def shut_and_open() -> list[Any]:
    load_target = LoadTarget(5, None)
    rates = [load_target.step(8), load_target.open(), load_target.is_open]
    load_target.shut()
    return [*rates, load_target.wanted, load_target.is_open]


def user_errors() -> list[Any]:
    host: Any = SimpleNamespace(errors=UserErrors(), replaced=0)
    errors = UserErrorMarks()
    error = UserError("KeyError", "'x'", "users.py:7 in buy")
    seen: list[Any] = []
    for happened, replaced in ((0, 0), (0, 3), (2, 3), (1, 3), (1, 3), (0, 4), (3, 4), (1, 4)):
        host.errors.waiting.extend([error] * happened)
        host.replaced = replaced
        t_s = 10.0 * len(seen) if len(seen) != 4 else 31.0
        mark = errors.mark(host, t_s, epoch=1, load=Load(10), all_changes=len(seen) == 7)
        seen.append(None if mark is None else msgspec.to_builtins(mark))
    assert host.errors.waiting == deque([])
    return seen


def known_versions() -> list[Any]:
    found = versions()
    return [sorted(found), sorted((*VERSIONED, "python")), all(found.values())]
