"""The state of a process, from /proc."""

from __future__ import annotations

from pathlib import Path


def is_stopped(pid: int) -> bool:
    """Whether SIGSTOP or ctrl+z has stopped the process, which may continue."""
    _, _, fields_after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")
    state = fields_after_name.split()[0]
    return state == "T"
