"""Sentences about who has the controls of a run, for its screens. Pure."""

from __future__ import annotations

from ...model.stream import Holding

LOST = "the run cannot be reached; what is recorded is still shown"


def controls_line(held: Holding) -> str:
    """For the status of a screen that may steer; empty where this is the run's only screen and has the controls."""
    if not held.connected:
        return LOST
    if not held.holds:
        asking = f"; {held.asked_by} asks for them" if held.asked_by is not None else "; c asks for them"
        return f"{holder(held)}{asking if held.holder is not None else '; c takes them'}"
    if held.asked_by is not None:
        return f"{held.asked_by} asks for the controls: c gives them, steering keeps them"
    return f"this screen has the controls; {held.screens} screens" if held.screens > 1 else ""


def watched(held: Holding) -> str:
    """For the status of a screen that only watches; empty where it is the run's only one."""
    if not held.connected:
        return LOST
    return f"{holder(held)}; this screen only watches" if held.screens > 1 or not held.holds else ""


def refusal(held: Holding) -> str:
    """To a key that steers, on a screen without the controls."""
    return f"{holder(held)}; c {'asks for' if held.holder is not None else 'takes'} them" if held.connected else LOST


def passed_on(held: Holding) -> str:
    """Ask for the controls, or hand them to the screen that asks; returns what the screen says."""
    if not held.connected:
        return LOST
    if not held.holds:
        before = held.holder
        held.ask()
        return f"{before} is asked for the controls" if before is not None else "this screen takes the controls"
    if held.asked_by is None:
        return "this screen has the controls; no other one asks for them"
    asked_by = held.asked_by
    held.give()
    return f"{asked_by} has the controls now"


def holder(held: Holding) -> str:
    """`pts/3 has the controls`."""
    return f"{held.holder or 'no screen'} has the controls"
