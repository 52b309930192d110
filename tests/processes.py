"""What the kernel says of a process. Only helps tests."""

from __future__ import annotations

from pathlib import Path


def is_stopped(pid: int) -> bool:
    """By SIGSTOP or ctrl+z."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "T"
