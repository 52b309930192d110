"""Requests of a long run with a new id in each path: the load side stops growing."""

from __future__ import annotations

import gc
import itertools
import tracemalloc

import pytest

from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.locust_bounds import BoundedStats
from capexplorer.load.recorder import Recorder
from capexplorer.session.redact_request import without_secrets

MOST_AN_HOUR = 1_000_000
"""Bytes that ids may add in an hour at A_SECOND requests per second."""
A_SECOND = 300
LEVEL_S = 2
SECONDS = 60


class _Reply:
    """A reply that a client has read."""

    request = None
    status_code = 200

    def __init__(self) -> None:
        self._content = b"x" * 200
        self.headers = {"Content-Type": "text/plain", "Content-Length": "200"}


class _Load:
    """The seconds of a run in one process, with a new level every LEVEL_S seconds."""

    def __init__(self) -> None:
        self._stats, self._recorder = BoundedStats(), Recorder(sampling=RequestSampling(without_secrets))
        self._ids, self._levels = itertools.count(10**15), itertools.count()

    def seconds(self, count: int) -> None:
        for second in range(count):
            if not second % LEVEL_S:
                self._recorder.begin_level(next(self._levels))
            for _ in range(A_SECOND):
                self._request(next(self._ids))
            self._recorder.drain(0.0, 0)

    def _request(self, number: int) -> None:
        name, error = f"/item/{number:x}", RuntimeError(f"{number:x} broke") if number % 10 == 0 else None
        self._stats.log_request("GET", name, 12, 200)
        if error is not None:
            self._stats.log_error("GET", name, error)
        self._recorder.on_request("GET", name, 12 + number % 7, 200, error, _Reply(), url=f"http://127.0.0.1{name}")


@pytest.mark.slow
def test_requests_with_ids_of_their_own_do_not_add_up() -> None:
    """Bytes in use at the end of each of three equal parts; the first fills everything that has a bound."""
    load, used = _Load(), []
    tracemalloc.start()
    for _ in range(3):
        load.seconds(SECONDS)
        gc.collect()
        used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    first, *_, last = used
    grown = (last - first) / (len(used) - 1)
    assert grown <= MOST_AN_HOUR * SECONDS / 3600, "one part alone varies by as much: tables grow and shrink in steps"
