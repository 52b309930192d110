"""Whether the load thread still runs: user code that computes without end, or that blocks outside gevent, stops all users.

Detected in the pump's thread by the heartbeat of the load thread's hub. A log alone cannot show it, because such seconds have no
requests.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.causes.episode import Episode
from ..analysis.causes.occurrence import Occurrence
from ..load.load_host import LoadHost
from ..model.events import Mark
from ..model.load import Load

BLOCKED_S = 5
"""Consecutive ticks without a heartbeat after which a mark is made."""
GIVEN_UP_S = 15
"""Consecutive ticks without a heartbeat after which the run has failed, until the heartbeat returns."""


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """Why the run cannot continue, with the exit code: 4 if the locustfile is the cause, 1 if capexplorer is."""

    error: str
    exit_code: int


class LoadHealth:
    """Call `look` once a tick; `failure` then says whether the load thread has failed."""

    def __init__(self) -> None:
        self.failure: LoadFailure | None = None
        self._blocked = Episode("cause:load_thread_blocked", "load_thread_blocked", 0, "critical")
        self._ended = Episode("cause:load_thread_ended", "load_thread_ended", 0, "critical")
        self._beats = -1
        self._silent_s = 0

    def look(self, host: LoadHost, t_s: float, epoch: int, load: Load) -> list[Mark]:
        """Marks to emit now. Counts ticks, not seconds: a process that was stopped and continues has missed no heartbeat."""
        self._silent_s = 0 if host.thread.beats != self._beats else self._silent_s + 1
        self._beats = host.thread.beats
        self.failure = None
        if host.thread.has_ended:
            self._see_end(host, t_s, load)
        elif self._silent_s >= BLOCKED_S:
            self._see_block(host, t_s, load)
        return [mark for episode in (self._blocked, self._ended) if (mark := _news(episode, t_s, epoch, load)) is not None]

    def _see_end(self, host: LoadHost, t_s: float, load: Load) -> None:
        why = f"{type(host.thread.ended_by).__name__}: {host.thread.ended_by}".splitlines()[0][:200]
        if not self._ended.is_open:
            self._ended.occurred(Occurrence(t_s=t_s, load=load, counted="deaths", example=why))
        destroyed = type(host.thread.ended_by).__name__ in ("HubDestroyed", "LoopExit")
        self.failure = LoadFailure(f"the load thread has ended, and with it all users: {why}", 4 if destroyed else 1)

    def _see_block(self, host: LoadHost, t_s: float, load: Load) -> None:
        where = host.thread.where()
        count = self._silent_s if self._silent_s == BLOCKED_S else 1
        self._blocked.occurred(Occurrence(t_s=t_s, load=load, count=count, counted="seconds", example=where))
        if self._silent_s >= GIVEN_UP_S:
            error = f"the load thread has not run for {GIVEN_UP_S} s: user code computes or blocks without gevent in {where}"
            self.failure = LoadFailure(error, 4)


def _news(episode: Episode, t_s: float, epoch: int, load: Load) -> Mark | None:
    episode.epoch = epoch
    episode.close_if_over(t_s, load)
    return episode.revision_to_publish(t_s)
