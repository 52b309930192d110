"""Waits for a target's build and reports why it failed. Runs in a native thread, as `ready` does."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ..errors import TargetError
from .spec import TargetSpec
from .supervisor import Supervisor

_INTERVAL_S = 0.05


def wait_until_built(supervisor: Supervisor, run: int, spec: TargetSpec, *, sleep: Callable[[float], None]) -> None:
    """Wait until this run of the target's build has ended; `Supervisor.listen` must have been called.

    Raises TargetError, with its last output lines: it failed, was stopped, or took longer than `build.timeout_s`.
    """
    assert spec.build is not None
    timeout_s = spec.build.timeout_s
    deadline_s = monotonic() + timeout_s
    while (ended := supervisor.exited(run)) is None:
        if monotonic() >= deadline_s:
            supervisor.stop()
            reason = f"not built after {timeout_s:g} s (build.timeout_s in {spec.path})"
            raise TargetError(f"{spec.name}: {reason}", supervisor.output)
        sleep(_INTERVAL_S)
    if ended.stopped:
        raise TargetError(f"{spec.name}: the build was stopped", ended.output)
    if ended.code != 0:
        last = f": {ended.last_line}" if ended.last_line else ""
        raise TargetError(f"{spec.name}: the build failed ({ended.how_it_ended()}){last}", ended.output)
