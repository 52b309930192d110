"""All episodes of a session, by cause and epoch, and which causes are open at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.events import Mark
from ...model.load import Load
from .catalogue import ENTRIES, invalidates_run
from .episode import Episode
from .occurrence import Occurrence

CHECKS_MOST = 20
"""Greatest number of failed checks with a mark of their own in an epoch; further ones share one."""

SHARED_KEY = "others"
"""Part of the key of that shared mark."""

FOLLOWS = {"connection_churn": "ephemeral_port_exhaustion"}
"""Cause -> prefix of the ids of its consequences, which do not compete with it."""


class Episodes:
    """Episodes by key, in the order first seen."""

    def __init__(self) -> None:
        self._all: dict[str, Episode] = {}

    def add(self, id: str, epoch: int, occurrence: Occurrence, part: str = "") -> None:  # noqa: A002 - the vocabulary's word
        """Count an occurrence of `id`. `part`: the name of the check that failed, since each check has its own mark; else
        empty.
        """
        key = f"cause:{id}:{part}:epoch{epoch}" if part else f"cause:{id}:epoch{epoch}"
        if part and key not in self._all and self._kinds(id, epoch) >= CHECKS_MOST:
            key = f"cause:{id}:{SHARED_KEY}:epoch{epoch}"
        episode = self._all.get(key)
        if episode is None:
            episode = self._all[key] = Episode(key, id, epoch, ENTRIES[id].severity)
        episode.occurred(occurrence)

    def _kinds(self, id: str, epoch: int) -> int:  # noqa: A002
        return sum(each.id == id and each.epoch == epoch for each in self._all.values())

    def end(self, id: str) -> None:  # noqa: A002
        """Close the episodes of one cause."""
        for each in self._all.values():
            if each.id == id:
                each.end()

    def end_all(self) -> None:
        """Close all episodes: their epoch has ended."""
        for each in self._all.values():
            each.end()

    def marks_to_publish(self, t_s: float, load: Load, *, all_changes: bool = False) -> Iterator[Mark]:
        """The marks to publish at this tick."""
        for each in self._all.values():
            each.close_if_over(t_s, load)
        blocking = [each.id for each in self._all.values() if each.is_open and invalidates_run(each.id)]
        for each in self._all.values():
            each.also(other for other in blocking if not other.startswith(FOLLOWS.get(each.id, "-")))
            mark = each.revision_to_publish(t_s, all_changes=all_changes)
            if mark is not None:
                yield mark
