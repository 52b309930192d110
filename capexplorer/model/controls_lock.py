"""Which of a run's screens may use its controls."""

from __future__ import annotations

from typing import Protocol


class ControlsLock(Protocol):
    """Which of a run's screens has its controls, from the view of one of them. At most one has them at any moment."""

    @property
    def holds(self) -> bool:
        """Whether this screen has the controls. Calls from another screen have no effect."""

    @property
    def holder(self) -> str | None:
        """Name of the screen that has the controls, such as `pts/3`; None: no screen has them."""

    @property
    def asked_by(self) -> str | None:
        """Name of the screen that asks for the controls, and gets them unless the holder goes on using them; None: none asks."""

    @property
    def screens(self) -> int:
        """Number of screens of the run, those that only watch included."""

    @property
    def connected(self) -> bool:
        """Whether the run can be reached from this screen."""

    def ask(self) -> None:
        """Ask for the controls; if no screen has them, this screen gets them at once."""

    def give(self) -> None:
        """Hand the controls to the screen that asks for them."""


class OnlyScreen:
    """The lock of a run that can have only one screen, which always has the controls."""

    holds = connected = True
    holder = asked_by = None
    screens = 1

    def ask(self) -> None:
        """Without effect: this screen has the controls."""

    def give(self) -> None:
        """Without effect: there is no other screen."""
