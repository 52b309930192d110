"""A dataclass of options as words of a command line: what is read from them is the same dataclass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from capexplorer.commands.run import Run
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.shared_options import parameters, words

GIVEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "an argument": {"profile": "mixed"},
    "a flag": {"headless": True},
    "no users": {"users": 0},
    "values that look like options": {"plan": "--", "label": "--autopilot", "requests": ("--headless", "-f x")},
    "an optional value": {"profile": "users", "autopilot": "rate"},
    "several": {"profile": "p", "allow_hosts": ("a", "b"), "locustfile": Path("f.py"), "max_users": 5, "settings": ("a=b c",)},
}


@pytest.mark.parametrize("name", GIVEN)
def test_the_words_of_options_are_read_as_the_same_options(name: str) -> None:
    given = RunArguments(**GIVEN[name])
    command = Run("run", params=parameters(RunArguments))
    with command.make_context("run", words(given)) as context:
        assert isinstance(context, click.Context)
        assert RunArguments(**context.params) == given
