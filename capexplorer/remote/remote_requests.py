"""Kept requests of a run in another process, fetched when the user opens them; the list at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ..model.kept_request import KeptRequest, RequestBrief
from ..model.sources import Clock
from .protocol import AskRequest, AskRequests, Call, KeptBriefs, KeptWhole

REFETCH_AFTER_S = 1.0


class Answering(Protocol):
    """A connection to the run."""

    @property
    def connected(self) -> bool:
        """Whether the run can be reached."""

    def answer_to(self, ask: Callable[[int], Call]) -> KeptBriefs | KeptWhole | None:
        """The run's answer; None: no answer."""


class RemoteRequests:
    """`KeptRequests` over a connection. What was fetched stays when the run has ended."""

    def __init__(self, connection: Answering, monotonic: Clock = time.monotonic) -> None:
        self._connection, self._monotonic = connection, monotonic
        self._briefs: Sequence[RequestBrief] = ()
        self._asked_s: float | None = None

    @property
    def why_none(self) -> str:
        """Why there are no requests: the run cannot be reached, and none were fetched before. Empty otherwise."""
        return "" if self._connection.connected or self._briefs else "the run cannot be reached: it has the requests"

    def briefs(self) -> Sequence[RequestBrief]:
        """All kept requests, as of at most a second ago."""
        now_s = self._monotonic()
        if self._connection.connected and (self._asked_s is None or now_s - self._asked_s >= REFETCH_AFTER_S):
            self._asked_s = now_s
            found = self._connection.answer_to(lambda number: AskRequests(number=number))
            if isinstance(found, KeptBriefs):
                self._briefs = found.briefs
        return self._briefs

    def request(self, number: int) -> KeptRequest | None:
        """One request with headers and bodies; None: it is not kept any more, or the run is gone."""
        if not self._connection.connected:
            return None
        found = self._connection.answer_to(lambda call: AskRequest(number=call, request=number))
        return found.request if isinstance(found, KeptWhole) else None
