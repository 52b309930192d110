"""Signals as events of a loop that waits for descriptors."""

from __future__ import annotations

import os
import signal


def wake_on(*numbers: int) -> int:
    """A descriptor that becomes readable at each of these signals, whose numbers it has. Handlers, not SIG_IGN: that would be
    inherited by children.
    """
    readable, writable = os.pipe()
    for descriptor in (readable, writable):
        os.set_blocking(descriptor, False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable
