"""The signals that end a run: asked for by a person or a scheduler, or the terminal went away."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


@contextlib.contextmanager
def signals_to(act: Callable[[str], None]) -> Iterator[None]:
    """While inside, the ending signals call `act(name)`. One that was ignored before (nohup) stays ignored."""
    before = {}
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda got, _: act(signal.Signals(got).name))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
