"""Whether a plan can begin a run. Pure. A plan that is started later may find load, and a knee or a capacity, that it needs."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from .plan import Step


def check_start(steps: Sequence[Step], where: str) -> None:
    """Check a plan that begins a run: no load runs, and nothing has been measured. Raises InputError: a step begins from a knee
    or a capacity that no step before it can show, or no step makes load.
    """
    shown_by_then: set[str] = set()
    for step in steps:
        needed = "knee" if step.offered_per_s is None else "capacity"
        if step.needs_verdict and needed not in shown_by_then:
            levels = "`find knee` or levels of users" if needed == "knee" else "levels of rates"
            raise InputError(
                f"{where}: expected {levels} before the step that needs the {needed}, which is not known at the start"
            )
        if step.users or step.kind == "find":
            shown_by_then.add("knee")
        elif step.offered_per_s:
            shown_by_then.add("capacity")
    if steps and not shown_by_then:
        raise InputError(f"{where}: expected users or a rate above 0 in some step, got none: the plan makes no load")
