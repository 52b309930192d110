"""Waits until the screen has reached a state, instead of for a fixed time."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.pilot import Pilot

TIMEOUT_S = 60.0
"""Far longer than a busy machine needs, so that only a screen that never reaches the state fails."""


async def until(pilot: Pilot[Any], condition: Callable[[], object], what: object = "") -> None:
    """Let the app run until the condition is true; `what` names it in the failure. `pilot.pause` returns when the app is idle, so
    that this is no busy loop.
    """
    deadline_s = monotonic() + TIMEOUT_S
    while not condition():
        assert monotonic() < deadline_s, f"not reached in {TIMEOUT_S:g} s: {what}"
        await pilot.pause(0.01)
