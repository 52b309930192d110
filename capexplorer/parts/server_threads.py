"""Threads that read servers' own figures: one for each server, because their clients block. A server that does not answer delays
nothing else; the text of its last error is kept.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from .servers import REFUSED, Server, ServerRefused

_RETRY_AFTER_S = 5.0
"""Pause after a failed reading."""


class ServerThread:
    """Reads one server's figures after each `ask`, unless the previous reading is still going on."""

    def __init__(self, kind: str, make: Callable[[], Server], wake: int) -> None:
        """`wake`: a descriptor to which a byte is written when there are new figures or a new error."""
        self.kind = kind
        self.why: str | None = None
        """Why there are no figures."""
        self._make, self._wake = make, wake
        self._asked = threading.Event()
        self._figures: dict[str, float] | None = None
        threading.Thread(target=self._run, daemon=True, name=kind).start()

    def ask(self) -> None:
        """Request a reading; returns at once."""
        self._asked.set()

    def take(self) -> dict[str, float] | None:
        """New figures; None if there are none since the last call."""
        found, self._figures = self._figures, None
        return found

    def _run(self) -> None:
        server: Server | None = None
        while True:
            self._asked.wait()
            self._asked.clear()
            try:
                server = server or self._make()
                self._figures, self.why = server.read(), None
            except ServerRefused as error:
                self._figures, self.why = dict(REFUSED), f"{self.kind}: {_first_line(error)}"
            except Exception as error:  # the boundary of a thread: each client has errors of its own
                self.why = f"{self.kind}: {_first_line(error)}"
                threading.Event().wait(_RETRY_AFTER_S)
            with suppress(OSError):
                os.write(self._wake, b"\n")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]
