"""What a tick counts requests and failures under, in bounded number.

Beyond 200 names of endpoints, parts that look like ids are replaced by `{id}`: without this a report on a WebDAV service had 301
rows, one for each user. Failures are a stream, limited in keys and in bytes per second for any number of failures and kinds. No
count is dropped: counts that do not fit into one second follow in a later one. New kinds come first.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import msgspec

from ..model.events import FailureSignature, FailureTick

# -- names of endpoints


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


# -- failures


BYTES_A_TICK = 1_500
"""Log bytes per second for failures, whose total is 2 KB per second; the rest is for marks."""
TEXTS = 50
"""Maximum number of distinct texts of one kind (types, errno, status); later failures are counted without text."""
KINDS = 100
"""Maximum number of distinct kinds in a session; later ones count as OTHER."""
KEYS = 1_000
"""Maximum number of pairs of endpoint and kind in a session; later ones count for the endpoint `{other}`, without texts."""

OTHER = FailureSignature(types=("Other",), text="further kinds of failure")


class FailureKey(NamedTuple):
    """The key of one count."""

    retried: bool
    name: str
    method: str
    signature: FailureSignature


class FailureStream:
    """Failures and repeated attempts of a session. Used by the pump's thread alone."""

    def __init__(self) -> None:
        self.most_bytes: float = BYTES_A_TICK
        self._texts: Counter[FailureSignature] = Counter()
        """Number of texts of each kind; a kind is a signature without its text."""
        self._signatures: set[FailureSignature] = set()
        self._keys: set[FailureKey] = set()
        self._emitted: set[FailureKey] = set()
        self._waiting: Counter[FailureKey] = Counter()
        """Counts not emitted yet, in order of arrival."""
        self._examples: dict[FailureSignature, str | None] = {}
        """Full text of the first failure by bounded signature (`_bounded`); None: it was emitted already."""

    def add(
        self, name: str, method: str, signature: FailureSignature, example: str = "", *, retried: bool = False, count: int = 1
    ) -> None:
        """Count one failure, or `count` equal ones. `example`: its full text, if available."""
        key = self._admitted(FailureKey(retried, name, method, self._bounded(signature)))
        self._waiting[key] += count
        if example and example != key.signature.text:
            self._examples.setdefault(key.signature, example)

    def drain(self) -> tuple[tuple[FailureTick, ...], tuple[FailureTick, ...]]:
        """(failures, retried) to emit now; at least one, if there is any."""
        ticks: dict[bool, list[FailureTick]] = {False: [], True: []}
        most_bytes = self.most_bytes
        for key in sorted(self._waiting, key=self._emitted.__contains__):
            example = self._examples.get(key.signature)
            tick = FailureTick(
                name=key.name, method=key.method, signature=key.signature, count=self._waiting[key], example=example
            )
            most_bytes -= len(msgspec.json.encode(tick))
            if most_bytes < 0 and any(ticks.values()):
                break
            del self._waiting[key]
            self._emitted.add(key)
            if example is not None:
                self._examples[key.signature] = None
            ticks[key.retried].append(tick)
        failures, retried = (sorted(each, key=_order) for each in ticks.values())
        return tuple(failures), tuple(retried)

    def _bounded(self, signature: FailureSignature) -> FailureSignature:
        """The signature, without its text after TEXTS texts of its kind; OTHER after KINDS kinds."""
        if signature in self._signatures:
            return signature
        kind = msgspec.structs.replace(signature, text="")
        if kind not in self._texts and len(self._texts) >= KINDS:
            return OTHER
        if self._texts[kind] >= TEXTS:
            return kind
        self._texts[kind] += 1
        self._signatures.add(signature)
        return signature

    def _admitted(self, key: FailureKey) -> FailureKey:
        """The key; after KEYS keys that of the endpoint `{other}`, without text."""
        if key not in self._keys:
            if len(self._keys) >= KEYS:
                return FailureKey(key.retried, "{other}", "", msgspec.structs.replace(key.signature, text=""))
            self._keys.add(key)
        return key


def _order(tick: FailureTick) -> tuple[str, str, int]:
    return tick.name, tick.method, -tick.count
