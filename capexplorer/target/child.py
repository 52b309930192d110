"""What a target's first process does between fork and exec: tie itself to the supervisor, take its limits on.

For the supervisor process alone: standard library only, one thread. What descends from the target inherits all of it.
"""

from __future__ import annotations

import os
import resource
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
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

    return between_fork_and_exec


def told(limits: Mapping[str, Any]) -> str:
    """The limits in words, for a start that was refused because of them."""
    return ", ".join(f"{name} = {value}" for name, value in limits.items())
