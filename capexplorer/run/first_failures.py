"""The first failure of each signature as a line of the session's log: `GET /items: 503: upstream pool exhausted`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import wording
from ..model.events import FailureSignature, FailureTick

MOST = 60
"""Lines in a session: later kinds are in the list of raw errors."""


class FirstFailures:
    """Call `lines` with the failures of each tick."""

    def __init__(self) -> None:
        self._seen: set[FailureSignature] = set()

    def lines(self, failures: Sequence[FailureTick]) -> Iterator[str]:
        """Of signatures that were not seen before."""
        for failure in failures:
            if failure.signature not in self._seen and len(self._seen) < MOST:
                self._seen.add(failure.signature)
                yield f"first failure: {failure.method} {failure.name}: {failure.example or wording.failure(failure.signature)}"
