"""The workers of a run that has none and can start none: its users run in this process."""

from __future__ import annotations

from ..load.load_host import LoadHost
from ..load.worker_changes import WorkersChanged
from ..model.events import By, Mark
from ..model.load import Load
from .drivers.adviser import Growth


class NoWorkers:
    """Has the interface of `LoadWorkers`."""

    host: LoadHost
    count = 0
    is_taking_over = False
    have_joined = True
    is_ending = False
    join_failure = ""

    def begin(self) -> None:
        """Nothing to start."""

    def why_not(self, *, add: bool) -> str:
        """None can be started."""
        return "workers cannot be started here"

    def add(self, by: By) -> None:
        """None can be started."""

    remove = add

    def growth(self) -> Growth:
        """None can be started."""
        return "none"

    def changed(self, report: WorkersChanged, load: Load) -> None:
        """There are none."""

    def marks(self, epoch: int, load: Load) -> list[Mark]:
        """None."""
        return []

    def align_seconds(self, boundary_s: float) -> None:
        """Do nothing: without workers no reports arrive."""

    def resend_users(self) -> bool:
        """False: users of this process were suspended with it and continue with it."""
        return False

    def expect_end(self) -> None:
        """There are none."""

    def end(self) -> None:
        """Nothing to end."""
