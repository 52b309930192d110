"""All hooks of the table, put in place in one process."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from importlib.machinery import PathFinder

import locust

from capexplorer.load.guard import HostGuard
from capexplorer.load.hooks import hook, hook_table
from capexplorer.load.hooks.hook import Hook, in_place, put_in_place, while_in_place
from capexplorer.load.hooks.task_hooks import Observers
from capexplorer.load.offering import Offering
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_code import UserErrors


def _name(hook: Hook) -> str:
    return f"{getattr(hook.owner, '__module__', '')} {getattr(hook.owner, '__name__', '')}.{hook.attribute}"


def _is_in_place(hook: Hook) -> bool:
    if hook not in in_place:
        return False
    now = sys.modules[hook.attribute] if hook.owner is sys.modules else inspect.getattr_static(hook.owner, hook.attribute)
    return now is in_place[hook]


def after_patching() -> list[str]:
    """Hooks of the run's start that are not in place."""
    return [_name(hook) for hook in (*hook.BEFORE_LOCUST, *hook_table.AFTER_LOCUST) if not _is_in_place(hook)]


def of_all_phases() -> list[str]:
    """Hooks that are not in place once all are put in place."""
    recorder = Recorder()
    put_in_place(hook_table.GUARD, HostGuard())
    put_in_place(hook_table.USERS, Observers(recorder.activity, Offering(recorder.iterations), UserErrors()))
    put_in_place(hook_table.WORKERS, "secret")
    with while_in_place(hook.AS_LOCUST_IS_IMPORTED):
        return [_name(hook) for hook in hook_table.TABLE if not _is_in_place(hook)]


def a_second_time() -> list[int]:
    """Calls of the original by one call of what was put in place twice."""
    calls: list[int] = []

    class Library:
        @staticmethod
        def send() -> None:
            calls.append(1)

    hook = Hook(Library, "send", lambda send: lambda: send(), "")
    put_in_place([hook])
    put_in_place([hook])
    Library.send()
    return calls


def missing_modules() -> list[str]:
    names = [hook.attribute for hook in hook_table.TABLE if hook.owner is sys.modules]
    return [name for name in names if PathFinder.find_spec(name, locust.__path__) is None]


def attributes_in_two_hooks() -> list[str]:
    return [name for name, hooks in Counter(map(_name, hook_table.TABLE)).items() if hooks > 1]


def of_a_missing_attribute() -> str:
    try:
        put_in_place([Hook(HostGuard, "no_such", lambda original: original, "decides on a retry")])
    except AttributeError as error:
        return str(error)
    return "nothing raised"


def attributes() -> list[str]:
    return sorted({hook.attribute for hook in hook_table.TABLE})
