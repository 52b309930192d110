"""The signals that end a command, sent by a person, a scheduler or a closed terminal. (What SIGHUP ends: `on_screen.py`.)

A signal that is ignored at the start stays ignored, as shells and nohup intend: SIGINT and SIGQUIT of a script's job in the
background, SIGHUP below nohup. SIGTERM ends such a run. The target gets default signals in any case.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


@contextlib.contextmanager
def signals_to(act: Callable[[str], None]) -> Iterator[None]:
    """Within the context these signals call `act(name)`, except ignored ones."""
    before = {}
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda got, _: act(signal.Signals(got).name))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
