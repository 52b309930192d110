"""Lines of the target's own log that report an error while requests fail, "folded": numbers and ids are replaced by #.

A line is additional evidence for a cause; no rule uses it. It is text from outside: bounded here, escaped and redacted where it
is shown.
"""

from __future__ import annotations

import re
from collections import Counter, deque

from ...model.events import Log

LINES_MOST = 200
"""Latest lines that are remembered."""

LENGTH_MOST = 120
"""Greatest length of a folded line."""

AROUND_S = 2.0
"""A line up to so many seconds before a failure may be about it: a service often logs before it replies."""

_ERROR = re.compile(
    r"\b(?:error|exception|fatal|panic|critical|emerg|alert|too many|exhaust\w*|refused|denied|timed? ?out|unavailable|cannot"
    r"|can't|could not|failed|failure|out of|no space|deadlock|overload\w*)\b",
    re.IGNORECASE,
)
_VARYING = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}|0x[0-9a-fA-F]+|\d+(?:[.:/-]\d+)*")
"""Tokens, ids, addresses, times and numbers."""
_LEADING = re.compile(r"^[\s#\[\](),:.-]+")
"""What remains of a time at the beginning of a line after folding."""


class TargetLog:
    """The latest folded lines that report an error."""

    def __init__(self) -> None:
        self._lines: deque[tuple[float, str]] = deque(maxlen=LINES_MOST)

    def add(self, log: Log) -> None:
        """Keep a line of the target that reports an error; others are ignored."""
        if log.source == "target" and _ERROR.search(log.text):
            self._lines.append((log.t_s, folded(log.text)))

    def around(self, t_s: float) -> str:
        """The most frequent line from AROUND_S before `t_s` on; empty if there is none."""
        counts = Counter(line for at_s, line in self._lines if at_s >= t_s - AROUND_S)
        return counts.most_common(1)[0][0] if counts else ""


def folded(line: str) -> str:
    """The line with numbers, times and ids replaced by #, on one line of at most LENGTH_MOST, cut at the end of a word."""
    text = _LEADING.sub("", _VARYING.sub("#", " ".join(line[: LENGTH_MOST * 4].split())))
    return text if len(text) <= LENGTH_MOST else text[:LENGTH_MOST].rpartition(" ")[0]
