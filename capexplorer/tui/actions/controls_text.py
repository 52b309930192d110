"""Sentences about who has the controls of a run, for its screens. Pure."""

from __future__ import annotations

from ...model.controls_lock import ControlsLock

LOST = "the run cannot be reached; what is recorded is still shown"


def controls_line(lock: ControlsLock) -> str:
    """The line in the status area of a screen that may steer; empty if it is the run's only screen and has the controls."""
    if not lock.connected:
        return LOST
    if not lock.holds:
        asking = f"; {lock.asked_by} asks for them" if lock.asked_by is not None else "; c asks for them"
        return f"{holder(lock)}{asking if lock.holder is not None else '; c takes them'}"
    if lock.asked_by is not None:
        return f"{lock.asked_by} asks for the controls: c gives them, steering keeps them"
    return f"this screen has the controls; {lock.screens} screens" if lock.screens > 1 else ""


def watched(lock: ControlsLock) -> str:
    """The line in the status area of a screen that only watches; empty if it is the run's only screen."""
    if not lock.connected:
        return LOST
    return f"{holder(lock)}; this screen only watches" if lock.screens > 1 or not lock.holds else ""


def refusal(lock: ControlsLock) -> str:
    """The answer to a key that steers, on a screen without the controls."""
    return f"{holder(lock)}; c {'asks for' if lock.holder is not None else 'takes'} them" if lock.connected else LOST


def passed_on(lock: ControlsLock) -> str:
    """Ask for the controls, or hand them to the screen that asks. Returns the message to show."""
    if not lock.connected:
        return LOST
    if not lock.holds:
        before = lock.holder
        if lock.asked_by is not None:
            return f"{lock.asked_by} asks for the controls already: one screen at a time"
        lock.ask()
        return f"{before} is asked for the controls" if before is not None else "this screen takes the controls"
    if lock.asked_by is None:
        return "this screen has the controls; no other one asks for them"
    asked_by = lock.asked_by
    lock.give()
    return f"{asked_by} has the controls now"


def holder(lock: ControlsLock) -> str:
    """`pts/3 has the controls`."""
    return f"{lock.holder or 'no screen'} has the controls"
