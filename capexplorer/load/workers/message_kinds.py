"""The kinds of messages between master and workers that are not Locust's. Senders and receivers take them from here.

Those about an offered rate are in `offered_rate`, with their data.
"""

from __future__ import annotations

PREFIX = "capexplorer_"

HELLO = PREFIX + "hello"
"""To the master, over a connection of its own: a process asks for a job."""
JOB = PREFIX + "job"
"""The answer: what to run."""
REFUSED = PREFIX + "refused"
"""The other answer: why not; also to a worker that has connected."""

WHO = PREFIX + "worker"
"""To the master: who the worker is, before it reports that it is ready."""
CLOCK = PREFIX + "clock"
"""There and back: a round trip, with the worker's time."""
GRID = PREFIX + "grid"
"""To a worker: a boundary between ticks, by its own clock."""
LEVEL = PREFIX + "level"
"""To a worker: the index of the level that begins."""
ENDED = PREFIX + "ended"
"""To the master: the worker's user code has called `stop` or `quit`."""
