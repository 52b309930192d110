"""Lines of the target's own log that name an error while requests fail, with numbers and ids folded.

A line is additional evidence for a cause; no rule uses it. Foreign text: bounded here, escaped and redacted where it is shown.
"""

from __future__ import annotations

import re
from collections import Counter, deque

from ...model.events import Log

LINES_MOST = 200
"""Latest lines that are remembered."""

LENGTH_MOST = 120

AROUND_S = 2.0
"""Seconds before a failure within which a line may be about it: a service often logs before it replies."""

_ERROR = re.compile(
    r"\b(?:error|exception|fatal|panic|critical|emerg|alert|too many|exhaust\w*|refused|denied|timed? ?out|unavailable|cannot"
    r"|can't|could not|failed|failure|out of|no space|deadlock|overload\w*)\b",
    re.IGNORECASE,
)
_VARYING = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}|0x[0-9a-fA-F]+|\d+(?:[.:/-]\d+)*")
"""Tokens, ids, addresses, times and numbers."""
_LEADING = re.compile(r"^[\s#\[\](),:.-]+")
"""What a folded time leaves at the beginning of a line."""


class TargetLog:
    """The latest lines that name an error."""

    def __init__(self) -> None:
        self._lines: deque[tuple[float, str]] = deque(maxlen=LINES_MOST)

    def add(self, log: Log) -> None:
        """Keep a line of the target that names an error; others are ignored."""
        if log.source == "target" and _ERROR.search(log.text):
            self._lines.append((log.t_s, folded(log.text)))

    def around(self, t_s: float) -> str:
        """The line that is most frequent since shortly before that moment; empty without one."""
        counts = Counter(line for at_s, line in self._lines if at_s >= t_s - AROUND_S)
        return counts.most_common(1)[0][0] if counts else ""


def folded(line: str) -> str:
    """`FATAL: sorry, too many clients already`, without times, numbers and ids, on one line, at a word's end."""
    text = _LEADING.sub("", _VARYING.sub("#", " ".join(line[: LENGTH_MOST * 4].split())))
    return text if len(text) <= LENGTH_MOST else text[:LENGTH_MOST].rpartition(" ")[0]
