"""`--autopilot` without a value, and with `users` or `rate`."""

from __future__ import annotations

import pytest

from capexplorer.commands.run import command


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
