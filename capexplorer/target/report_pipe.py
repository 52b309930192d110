"""The pipe by which the supervisor reports to the app.

For the supervisor process alone: standard library only, one thread.
"""

from __future__ import annotations

import json
import os
from typing import Any

UNREAD_MOST_BYTES = 1_000_000
"""If the app has left this much unread, output is held back; beyond its own bound it is dropped and counted."""


class ReportPipe:
    """Buffers reports. Writing never blocks. A reader that is gone is no error here: the command pipe ends with it."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._bytes = bytearray()

    @property
    def unread(self) -> bool:
        """Whether reports wait to be written."""
        return bool(self._bytes)

    @property
    def full(self) -> bool:
        """Whether so much is unread that output must be held back."""
        return len(self._bytes) > UNREAD_MOST_BYTES

    def send(self, report: dict[str, Any]) -> None:
        """Append a report to the buffer; `flush` writes it."""
        self._bytes += json.dumps(report).encode() + b"\n"

    def flush(self) -> None:
        """Write as much as the pipe takes now."""
        try:
            while self._bytes:
                del self._bytes[: os.write(self._descriptor, self._bytes)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._bytes.clear()
