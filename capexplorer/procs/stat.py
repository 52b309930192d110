"""/proc/PID/stat. `parts/remote_reader.py`, which is sent to other machines, has its own."""

from __future__ import annotations

import os
from typing import NamedTuple

_MOST_BYTES = 4096


class Stat(NamedTuple):
    """The fields that are used. Times in clock ticks, start time since boot."""

    name: str
    """As the process has set it: untrusted text."""
    state: str
    parent: int
    session: int
    major_faults: int
    """Major page faults of this process: pages that had to be read from disk."""
    own_ticks: int
    """CPU time of all its threads, without its children's."""
    reaped_ticks: int
    """CPU time of its reaped children, including their reaped children."""
    threads: int
    started_ticks: int
    rss_pages: int
    wait_status: int
    """Wait status of a zombie; also 0 where this process may not read it."""

    @property
    def has_ended(self) -> bool:
        """Whether it is a zombie: nobody has waited for it yet."""
        return self.state in "ZX"


def stat_in(text: str | None) -> Stat | None:
    """One process; None without the text, or with a part of it. The name may hold spaces and brackets, so fields count from the
    last bracket.
    """
    head, _, rest = (text or "").rpartition(")")
    fields = rest.split()
    if len(fields) < 22:
        return None
    return Stat(
        name=head.partition("(")[2],
        state=fields[0],
        parent=int(fields[1]),
        session=int(fields[3]),
        major_faults=int(fields[9]),
        own_ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        threads=int(fields[17]),
        started_ticks=int(fields[19]),
        rss_pages=int(fields[21]),
        wait_status=int(fields[49]) if len(fields) > 49 else 0,
    )


def stat_of(pid: int) -> Stat | None:
    """One process here, in one read; None if there is none, or it cannot be read."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return stat_in(os.read(descriptor, _MOST_BYTES).decode("utf-8", "replace"))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def stats() -> dict[int, Stat]:
    """All processes here by pid. Raises OSError: /proc cannot be listed."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return {pid: found for pid in pids if (found := stat_of(pid)) is not None}
