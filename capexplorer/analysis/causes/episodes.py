"""All episodes of a session by cause and epoch, and which causes stand beside one another."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.events import Mark
from .catalogue import ENTRIES
from .episode import Episode, Occurrence

CHECKS_MOST = 20
"""Kinds of failed checks told apart in an epoch; further ones share a mark."""

OTHERS = "others"

FOLLOWS = {"connection_churn": "ephemeral_port_exhaustion"}
"""What comes of a cause (the beginning of its ids) is no alternative to it."""


class Episodes:
    """Episodes by key, in the order first seen."""

    def __init__(self) -> None:
        self._all: dict[str, Episode] = {}

    def saw(self, id: str, epoch: int, seen: Occurrence, part: str = "") -> None:  # noqa: A002 - the vocabulary's word
        """Fold an occurrence of `id`; `part` tells its kinds apart (the check that failed)."""
        key = f"cause:{id}:{part}:epoch{epoch}" if part else f"cause:{id}:epoch{epoch}"
        if part and key not in self._all and self._kinds(id, epoch) >= CHECKS_MOST:
            key = f"cause:{id}:{OTHERS}:epoch{epoch}"
        episode = self._all.get(key)
        if episode is None:
            episode = self._all[key] = Episode(key, id, epoch, ENTRIES[id].severity)
        episode.occurred(seen)

    def _kinds(self, id: str, epoch: int) -> int:  # noqa: A002
        return sum(each.id == id and each.epoch == epoch for each in self._all.values())

    def end(self, id: str) -> None:  # noqa: A002
        """It is over."""
        for each in self._all.values():
            if each.id == id:
                each.end()

    def end_all(self) -> None:
        """Their epoch is over."""
        for each in self._all.values():
            each.end()

    def news(self, t_s: float, users: int, *, exactly: bool = False) -> Iterator[Mark]:
        """What to tell at this tick."""
        for each in self._all.values():
            each.look(t_s, users)
        spoiling = [each.id for each in self._all.values() if each.is_open and spoils(each.id)]
        for each in self._all.values():
            each.also(other for other in spoiling if not other.startswith(FOLLOWS.get(each.id, "-")))
            mark = each.news(t_s, exactly=exactly)
            if mark is not None:
                yield mark


def spoils(id: str) -> bool:  # noqa: A002
    """Whether nothing is said about the target while it stands: critical, and not the target's own."""
    entry = ENTRIES[id]
    return entry.severity == "critical" and entry.where in ("generator", "host", "network")
