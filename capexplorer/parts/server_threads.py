"""Servers that are asked for their own figures: a thread each, because their clients wait for answers.

The latest figures are taken once. A server that does not answer delays nothing, and its last words are kept.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from .servers import REFUSED, Server, ServerRefused

_AGAIN_S = 5.0
"""Before a server that failed is asked again."""


class ServerThread:
    """Asks one server when `ask` is called, unless it still waits for the answer before."""

    def __init__(self, kind: str, make: Callable[[], Server], wake: int) -> None:
        """`wake`: a descriptor to which a byte is written when there is news."""
        self.kind = kind
        self.why: str | None = None
        """Why there are no figures."""
        self._make, self._wake = make, wake
        self._asked = threading.Event()
        self._figures: dict[str, float] | None = None
        threading.Thread(target=self._run, daemon=True, name=kind).start()

    def ask(self) -> None:
        """Read its figures soon."""
        self._asked.set()

    def take(self) -> dict[str, float] | None:
        """New figures; None where there are none since the last call."""
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
                self._figures, self.why = dict(REFUSED), f"{self.kind}: {_said(error)}"
            except Exception as error:  # the boundary of a thread: each client has errors of its own
                self.why = f"{self.kind}: {_said(error)}"
                threading.Event().wait(_AGAIN_S)
            with suppress(OSError):
                os.write(self._wake, b"\n")


def _said(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]
