"""Logs to damage: the sample sessions with a few seconds of each level. All kinds of lines and all marks are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from capexplorer import paths
from capexplorer.model.events import Event, Log, Sample
from capexplorer.session.codec import encode, sealed
from capexplorer.session.reader import read

SECONDS_PER_LEVEL = 4
LINES_OF_OUTPUT = 2

Lines = tuple[bytes, ...]
"""The lines of a log, without their line ends."""


@cache
def small_logs() -> tuple[Lines, ...]:
    """Of each sample session."""
    return tuple(_sealed(encode(event) for event in _thinned(read(path))) for path in paths.sample_sessions().values())


def _sealed(lines: Iterable[bytes]) -> Lines:
    return tuple(sealed(line, number) for number, line in enumerate(lines, start=1))


def _thinned(events: Iterator[Event]) -> Iterator[Event]:
    """The first unsettled and the first settled seconds of each level, and all other events but most output."""
    seen: Counter[object] = Counter()
    for event in events:
        match event:
            case Sample():
                key: object = (event.level, event.settled)
                most = SECONDS_PER_LEVEL // 2
            case Log():
                key, most = "log", LINES_OF_OUTPUT
            case _:
                key, most = id(event), 1
        seen[key] += 1
        if seen[key] <= most:
            yield event
