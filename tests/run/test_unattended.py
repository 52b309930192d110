"""The reason for which a run without a screen ends."""

from __future__ import annotations

from tui.fake_controls import FakeControls

from capexplorer.run.screens import Screens, Unattended

from .bare_context import bare_context


def test_a_failure_before_the_first_check_ends_the_run() -> None:
    """A headless run whose sessions folder could not be made once continued for ever."""
    context = bare_context()
    outcome = context.outcome
    unattended = Unattended(Screens(FakeControls(), context), lambda: True, outcome)
    outcome.fail("log", "the sessions folder cannot be made", 4)
    assert unattended.reason == "the sessions folder cannot be made"
