"""Setup of a target's first process between fork and exec: binds it to the supervisor, resets signals, applies its limits.

For the supervisor process alone: standard library only, one thread. The target's descendants inherit all of this.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Mapping
from typing import Any

from capexplorer.target.process_tree import die_with_parent


def prepare(limits: Mapping[str, Any]) -> Callable[[], None]:
    """`preexec_fn` of a target. `limits`: `open_files` (soft and hard), `cpus`, each if set."""
    bind = die_with_parent()
    open_files, cpus = limits.get("open_files"), limits.get("cpus")

    def between_fork_and_exec() -> None:
        if bind:
            bind()
        _restore_signals()
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

    return between_fork_and_exec


def _restore_signals() -> None:
    """A shell may have started the app with signals ignored or blocked (`nohup`, a background job); the target gets the
    defaults."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def described(limits: Mapping[str, Any]) -> str:
    """The limits as text, for the error message of a start that they prevented."""
    return ", ".join(f"{name} = {value}" for name, value in limits.items())
