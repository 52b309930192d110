"""Observations of the marks of exceptions in user code and of the versions in the header.

Played in a process that gevent has patched, since these modules import the load engine.
"""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import msgspec

from capexplorer.load.user_code import UserError, UserErrors
from capexplorer.model.load import Users
from capexplorer.run.run_failures import ObservedMarks, cause_of
from capexplorer.run.session_run import VERSIONED, versions


def marks_of_user_errors() -> list[Any]:
    """The mark of each of eight ticks, or None. In ticks 3 to 5, 7 and 8 there are exceptions; the last tick is that of the end.

    The ticks are 10 s apart, but for the fifth, which follows the fourth after 1 s.
    """
    host: Any = SimpleNamespace(errors=UserErrors(), replaced=0)
    errors = ObservedMarks()
    error = UserError("KeyError", "'x'", "users.py:7 in buy")
    marks: list[Any] = []
    for exceptions, replaced in ((0, 0), (0, 3), (2, 3), (1, 3), (1, 3), (0, 4), (3, 4), (1, 4)):
        host.errors.waiting.extend([error] * exceptions)
        host.replaced = replaced
        t_s = 10.0 * len(marks) if len(marks) != 4 else 31.0
        found = list(errors.marks(host, (), t_s, epoch=1, load=Users(10), all_changes=len(marks) == 7))
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
    return [[mark.key, mark.severity] for mark in ObservedMarks().marks(host, (), 20.0, epoch=1, load=Users(10))]


def header_versions() -> dict[str, Any]:
    """The names of versions in the header, those that it should have, and those without a value."""
    found = versions()
    return {
        "names": sorted(found),
        "expected": sorted((*VERSIONED, "python")),
        "unknown": [name for name, version in found.items() if not version],
    }
