"""A target's own metrics, over HTTP: numbers in JSON (nested names joined with dots) or `name value` lines, of which Prometheus'
text format is a kind.

Must never delay the tick by more than half a second, and never make it fail: missing metrics are None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ..model import outside

_TIMEOUT_S = 0.5
_MOST_BYTES = 1 << 20
_ACCEPT = "application/json, text/plain"


class AppProbe:
    """Reads the metrics of one URL: plain http, with a numeric address as its host."""

    def __init__(self, url: str) -> None:
        from .. import native_http  # httpcore takes time to import, and few targets have metrics

        self._get, self._url = native_http.get, url
        self._names: set[str] = set()
        self.unusable: tuple[str, ...] = ()
        """Names of metrics of the latest reading that are not finite, too large, or more than `outside.FIGURES_MOST`."""

    def read(self) -> dict[str, float] | None:
        """The metrics; None unless they arrived complete, in time, with status 200."""
        from httpcore import ProtocolError

        self.unusable = ()
        try:
            with self._get(self._url, accept=_ACCEPT, timeout_s=_TIMEOUT_S, most_bytes=_MOST_BYTES) as answer:
                if answer.status != 200:
                    return None
                body = b"".join(answer.body)
            found, self.unusable = metrics(answer.headers.get("content-type", ""), body.decode())
            return self._bounded(found)
        except (OSError, ValueError, ProtocolError):
            return None

    def _bounded(self, found: dict[str, float]) -> dict[str, float]:
        """The metrics with at most `outside.FIGURES_MOST` names in a session: those that came first."""
        new = [name for name in found if name not in self._names]
        places = outside.FIGURES_MOST - len(self._names)
        self._names.update(new[:places])
        self.unusable = (*self.unusable, *new[places:])
        return {name: value for name, value in found.items() if name in self._names}


def metrics(content_type: str, body: str) -> tuple[dict[str, float], tuple[str, ...]]:
    """(numbers of a body by their names, names of those that are not finite, too large, or too many). Raises ValueError for JSON
    that is not an object, or is nested too deeply.
    """
    if "json" in content_type or body.lstrip().startswith("{"):
        try:
            found = msgspec.json.decode(body)  # its DecodeError is a ValueError
            if not isinstance(found, dict):
                raise ValueError("not an object")
            return outside.figures(_flat(found, ""))
        except RecursionError:
            raise ValueError("nested too deeply") from None
    return outside.figures({each.name + each.labels: each.value for each in samples(body) if not OF_HISTOGRAMS.search(each.name)})


OF_HISTOGRAMS = re.compile(r"_bucket$|_created$")
"""Metrics that are left out where all are read: counts by bucket and times of creation would be most of a page."""


def _flat(tree: dict[str, object], prefix: str) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[prefix + name] = value
    return flat


class Sample(NamedTuple):
    """One line of a page of metrics."""

    name: str
    labels: str
    """As they are written, with their braces; empty without labels."""
    value: float
    is_counter: bool
    """By the `# TYPE` line before it."""


_SAMPLE = re.compile(r"""\s*(?P<name>[^\s{#][^\s{]*)(?P<labels>\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(?P<value>\S+)""")
"""A value of a label may hold spaces and braces. A time may follow."""


def samples(text: str) -> Iterator[Sample]:
    """The lines that are samples. The format's NaN and Inf are no values."""
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split(None, 4)
        if words[:2] == ["#", "TYPE"] and len(words) > 3:
            kinds[words[2]] = words[3]
        elif (found := _SAMPLE.match(line)) is not None and (value := _number(found["value"])) is not None:
            name = found["name"]
            is_counter = "counter" in (kinds.get(name), kinds.get(name.removesuffix("_total")))
            yield Sample(name, found["labels"] or "", value, is_counter)


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
