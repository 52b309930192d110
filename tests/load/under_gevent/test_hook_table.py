"""Each attribute that the table of `load/hooks` replaces exists in its library, and its replacement is in place."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from importlib.machinery import PathFinder

import locust
import pytest

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


def test_a_patched_process_has_the_replacements_of_its_start() -> None:
    assert [_name(each) for each in (*hook.BEFORE_LOCUST, *hook_table.AFTER_LOCUST) if not _is_in_place(each)] == []


def test_each_hook_of_the_table_replaces_an_attribute_that_exists() -> None:
    recorder, errors = Recorder(), UserErrors()
    put_in_place(hook_table.GUARD, HostGuard())
    put_in_place(hook_table.USERS, Observers(recorder.activity, Offering(recorder.iterations, errors), errors))
    put_in_place(hook_table.WORKERS, "secret")
    with while_in_place(hook.AS_LOCUST_IS_IMPORTED), while_in_place(hook_table.TRACES):
        assert [_name(each) for each in hook_table.TABLE if not _is_in_place(each)] == []
    modules = [each.attribute for each in hook_table.TABLE if each.owner is sys.modules]
    assert all(PathFinder.find_spec(name, locust.__path__) for name in modules)
    assert len({each.attribute for each in hook_table.TABLE}) > 40


def test_no_attribute_is_in_two_hooks() -> None:
    assert [name for name, hooks in Counter(map(_name, hook_table.TABLE)).items() if hooks > 1] == []


def test_what_is_put_in_place_again_replaces_the_original_and_not_its_replacement() -> None:
    calls: list[int] = []

    class Library:
        @staticmethod
        def send() -> None:
            calls.append(1)

    twice = Hook(Library, "send", lambda send: lambda: send(), "")
    put_in_place([twice])
    put_in_place([twice])
    Library.send()
    assert calls == [1]


def test_an_attribute_that_a_library_no_longer_has_is_named_with_what_it_is_for() -> None:
    with pytest.raises(AttributeError, match="HostGuard has no attribute `no_such`: decides on a retry"):
        put_in_place([Hook(HostGuard, "no_such", lambda original: original, "decides on a retry")])
