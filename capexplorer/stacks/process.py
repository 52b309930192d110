"""The process that samples, beside the app: an Ask on descriptor 0, an Answer on descriptor 1, then it ends.

It ends at once when descriptor 0 is closed, or is killed, and with it the programs that it started; what it has begun in the
service ends with its connections.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import msgspec

from ..procs.lines import lines_of, write_all
from .messages import Ask
from .sampling import Sampling


def main() -> None:
    """Serve one request."""
    lines = lines_of(0)
    first = next(lines, None)
    if first is None:
        return
    sampling = Sampling(msgspec.json.decode(first, type=Ask))  # starts programs: before there is a second thread
    Thread(target=_end_with, args=(lines,), daemon=True).start()
    answer = sampling.answer()
    with suppress(BrokenPipeError):
        write_all(1, msgspec.json.encode(answer) + b"\n")
    os._exit(0)  # the thread above waits for its descriptor


def _end_with(lines: Iterator[bytes]) -> None:
    for _ in lines:
        pass
    os._exit(1)
