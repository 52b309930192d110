"""The supervisor process's reports to the app: its JSON lines as typed values. Lines of output are data from the target."""

from __future__ import annotations

import msgspec


class Started(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """The target's process runs; it may not be ready yet."""

    run: int
    """Number of the run, as `Supervisor.start` returned it."""
    pid: int
    """Process id of the target's first process, which leads its own session and process group."""


class Output(msgspec.Struct, frozen=True, tag_field="type", tag="output"):
    """The target printed, on stdout or stderr."""

    run: int
    lines: tuple[str, ...]
    dropped: int = 0
    """Number of lines dropped before these, since the target printed more than is recorded."""


class Exited(msgspec.Struct, frozen=True, tag_field="type", tag="exited"):
    """The target and all its descendants have ended, or it could not be started."""

    run: int
    code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, e.g. SIGKILL."""
    stopped: bool = False
    """Whether the app asked it to end; otherwise it ended by itself."""
    reason: str | None = None
    """Why it never ran, or why its end is unknown."""
    output: tuple[str, ...] = ()
    """Its last lines of output."""

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        return next((line.strip() for line in reversed(self.output) if line.strip()), "")

    def how_it_ended(self) -> str:
        """`exit code 1`, `SIGKILL`, or the reason."""
        return self.reason or self.signal or f"exit code {self.code}"


Report = Started | Output | Exited
