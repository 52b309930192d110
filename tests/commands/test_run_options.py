"""Options of `run` with a rule of their own: `--autopilot` without a value, and `--arrivals` beside the profile's."""

from __future__ import annotations

import pytest

from capexplorer.commands.run import command
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.model.load import Arrivals


@pytest.mark.parametrize(
    ("given", "load", "profile"),
    [
        (["mixed"], None, "mixed"),
        (["mixed", "--autopilot"], "users", "mixed"),
        (["--autopilot", "mixed"], "users", "mixed"),
        (["--autopilot", "rate", "mixed"], "rate", "mixed"),
        (["mixed", "--autopilot", "rate"], "rate", "mixed"),
        (["--autopilot=rate"], "rate", None),
        (["--autopilot", "--headless", "mixed"], "users", "mixed"),
    ],
)
def test_the_word_after_the_autopilot_option_is_its_value_only_if_it_is_an_axis(
    given: list[str], load: str | None, profile: str | None
) -> None:
    with command.make_context("run", given) as context:
        assert (context.params["autopilot"], context.params["profile"]) == (load, profile)


@pytest.mark.parametrize(("given", "expected"), [(None, "poisson"), ("even", "even"), ("poisson", "poisson")])
def test_the_arrivals_option_overrides_the_profile(given: Arrivals | None, expected: str) -> None:
    assert resolve(RunArguments(profile="sleepers", arrivals=given)).profile.users.arrivals == expected
