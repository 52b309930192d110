"""The reason for which a run without a screen ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from capexplorer.model.controls import Setup
from capexplorer.run.run_outcome import RunOutcome
from capexplorer.run.unattended import Unattended

if TYPE_CHECKING:
    from capexplorer.run.live import LiveRun


def test_a_failure_before_the_first_check_ends_the_run() -> None:
    """A headless run whose sessions folder could not be made once continued for ever."""
    outcome = RunOutcome()
    run = SimpleNamespace(
        controls=SimpleNamespace(setup=Setup(max_users=9, can_restart=False, plans={}, unattended_s=300.0)),
        outcome=outcome,
        screens=SimpleNamespace(holder=None),
        is_driven=True,
    )
    unattended = Unattended(cast("LiveRun", run))
    outcome.fail("log", "the sessions folder cannot be made", 4)
    assert unattended.reason == "the sessions folder cannot be made"
