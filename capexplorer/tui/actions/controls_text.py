"""Sentences about who has the controls of a run, for its screens. Pure."""

from __future__ import annotations

from ...model.stream import Holding

LOST = "the run cannot be reached; what is recorded is still shown"


def controls_line(holding: Holding) -> str:
    """The line in the status area of a screen that may steer; empty if it is the run's only screen and has the controls."""
    if not holding.connected:
        return LOST
    if not holding.holds:
        asking = f"; {holding.asked_by} asks for them" if holding.asked_by is not None else "; c asks for them"
        return f"{holder(holding)}{asking if holding.holder is not None else '; c takes them'}"
    if holding.asked_by is not None:
        return f"{holding.asked_by} asks for the controls: c gives them, steering keeps them"
    return f"this screen has the controls; {holding.screens} screens" if holding.screens > 1 else ""


def watched(holding: Holding) -> str:
    """The line in the status area of a screen that only watches; empty if it is the run's only screen."""
    if not holding.connected:
        return LOST
    return f"{holder(holding)}; this screen only watches" if holding.screens > 1 or not holding.holds else ""


def refusal(holding: Holding) -> str:
    """The answer to a key that steers, on a screen without the controls."""
    return f"{holder(holding)}; c {'asks for' if holding.holder is not None else 'takes'} them" if holding.connected else LOST


def passed_on(holding: Holding) -> str:
    """Ask for the controls, or hand them to the screen that asks. Returns the message to show."""
    if not holding.connected:
        return LOST
    if not holding.holds:
        before = holding.holder
        holding.ask()
        return f"{before} is asked for the controls" if before is not None else "this screen takes the controls"
    if holding.asked_by is None:
        return "this screen has the controls; no other one asks for them"
    asked_by = holding.asked_by
    holding.give()
    return f"{asked_by} has the controls now"


def holder(holding: Holding) -> str:
    """`pts/3 has the controls`."""
    return f"{holding.holder or 'no screen'} has the controls"
