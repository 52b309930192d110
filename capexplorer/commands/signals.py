"""The signals that end a run: asked for by a person or a scheduler, or the terminal went away.

One that comes ignored stays ignored, as shells and nohup mean it: SIGINT and SIGQUIT of a script's job in the background, SIGHUP
below nohup. SIGTERM ends such a run. The target gets default signals in any case.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


@contextlib.contextmanager
def signals_to(act: Callable[[str], None]) -> Iterator[None]:
    """While inside, the ending signals call `act(name)`, but for those that are ignored."""
    before = {}
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda got, _: act(signal.Signals(got).name))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
