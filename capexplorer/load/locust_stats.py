"""Locust's own statistics, which locustfiles read, in bounded memory.

Locust keeps an entry for each name, each second and each text of an error for ever: with an id in each path 2 GB an hour at 300
requests per second.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from locust.stats import EntriesDict, RequestStats, StatsEntry, StatsError

from .endpoints import EndpointNames

ERRORS_MOST = 500
"""Maximum number of different errors; the occurrences of further ones are counted together."""

SECONDS_MOST = 60
"""Latest seconds of an entry whose requests are counted one by one. Locust reads those of the last twelve."""

_Key = tuple[str, str]
"""(name, method), as Locust has it."""


class BoundedStats(RequestStats):
    """Statistics under the names by which requests are counted here (`EndpointNames`)."""

    def __init__(self) -> None:
        super().__init__()
        self.clear_all()

    def clear_all(self) -> None:
        """Remove all entries and errors."""
        super().clear_all()
        self.total = _Entry(self, "Aggregated", "", use_response_times_cache=True)
        self.entries = _Entries(self)

    def log_error(self, method: str, name: str, error: Exception | str | None) -> None:
        """Count an error by its text: an exception refers to its response, with its body."""
        super().log_error(method, self.entries[(name, method)].name, StatsError.parse_error(error))

    @property
    def errors(self) -> dict[str, StatsError]:
        """The errors by Locust's key."""
        return self._errors

    @errors.setter
    def errors(self, found: dict[str, StatsError]) -> None:
        self._errors = _Errors(found)


class _Entries(EntriesDict):
    """Gives the entry under whose name requests of a raw name are counted."""

    def __init__(self, stats: BoundedStats) -> None:
        super().__init__(stats)  # type: ignore[no-untyped-call]
        self._names = EndpointNames()

    def __missing__(self, key: _Key) -> StatsEntry:
        counted = self._counted(key)
        if not dict.__contains__(self, counted):
            self[counted] = _Entry(self.request_stats, *counted, use_response_times_cache=True)
        found: StatsEntry = self[counted]
        return found

    def __contains__(self, key: object) -> bool:
        """Whether there is an entry or `__missing__` gives one: Locust adds a worker's entry to it."""
        return True

    def _counted(self, key: _Key) -> _Key:
        name, method = key
        was_grouping = self._names.grouping
        method, name = self._names.canonical(str(method or ""), str(name or ""))
        if self._names.grouping and not was_grouping:
            for raw in list(self):
                entry = self.pop(raw)
                self[raw].extend(entry)
        return name, method


class _Entry(StatsEntry):
    """An entry that forgets single seconds."""

    def reset(self) -> None:
        """Set all counts to zero."""
        super().reset()  # type: ignore[no-untyped-call]
        self.num_reqs_per_sec, self.num_fail_per_sec = _Seconds(int), _Seconds(int)


class _Seconds(defaultdict[int, int]):
    """Counts of the SECONDS_MOST latest seconds."""

    def __setitem__(self, second: int, count: int) -> None:
        super().__setitem__(second, count)
        if len(self) > SECONDS_MOST:
            del self[next(iter(self))]


class _Errors(dict[str, StatsError]):
    """Up to ERRORS_MOST errors. Once it is full, all other keys have one common entry."""

    def __missing__(self, key: str) -> StatsError:
        if len(self) < ERRORS_MOST:
            raise KeyError(key)
        return self.setdefault("", StatsError("", "", "further kinds of errors"))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or len(self) >= ERRORS_MOST

    def get(self, key: str, default: Any = None) -> Any:
        """The entry of this key, or the common one."""
        return self[key] if key in self else default
