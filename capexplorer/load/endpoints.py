"""Bounds the number of endpoint names: beyond 200 names, parts that look like ids are replaced by `{id}`. Without this a
report on a WebDAV service had 301 rows, one for each user."""

from __future__ import annotations

import re

ENDPOINT_NAMES_MOST = 200
GROUPED_ENDPOINT_NAMES_MOST = 500
"""Above this number, further grouped names are counted together as `{other}`."""

_ID = re.compile(
    r"""
      \d+                                                # a number
    | [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}        # a UUID
    | [0-9a-f]{8,}                                       # hex
    | (?=[^/]*\d)[\w.~@%+-]{3,}                          # letters with digits: user17, file_3.txt
    | [\w~%+-]{24,}                                      # a long token
    """,
    re.VERBOSE | re.IGNORECASE,
)
_VERSION = re.compile(r"v\d{1,2}(\.\w+)?", re.IGNORECASE)


def grouped(name: str) -> str:
    """`/users/17/files/a8?x=1` -> `/users/{id}/files/{id}?x={id}`; API versions (`v2`) stay."""
    path, mark, query = name.partition("?")
    parts = [_part(part) for part in path.split("/")]
    if not mark:
        return "/".join(parts)
    pairs = [pair.partition("=") for pair in query.split("&")]
    return "/".join(parts) + "?" + "&".join(f"{key}{equals}{_part(value)}" for key, equals, value in pairs)


def _part(text: str) -> str:
    return "{id}" if _ID.fullmatch(text) and not _VERSION.fullmatch(text) else text


class EndpointNames:
    """Maps a raw (method, name) to the name under which it is counted."""

    def __init__(self) -> None:
        self.grouping = False
        self._known: set[tuple[str, str]] = set()
        self._cache: dict[tuple[str, str], tuple[str, str]] = {}

    def canonical(self, method: str, name: str) -> tuple[str, str]:
        """(method, name) to count under."""
        raw = (method, name)
        found = self._cache.get(raw)
        if found is not None:
            return found
        if not self.grouping and raw not in self._known and len(self._known) >= ENDPOINT_NAMES_MOST:
            self.grouping = True
            self._known = {(known_method, grouped(known)) for known_method, known in self._known}
            self._cache.clear()
        key = (method, grouped(name)) if self.grouping else raw
        if key not in self._known and len(self._known) >= GROUPED_ENDPOINT_NAMES_MOST:
            key = (method, "{other}")
        self._known.add(key)
        if len(self._cache) < 10_000:  # the number of raw names is unbounded
            self._cache[raw] = key
        return key
