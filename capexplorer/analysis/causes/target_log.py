"""Lines of the target's own log that report an error while requests fail. The reason of a traceback is preferred to other lines:
its header (`ERROR: Exception in ASGI application`) says nothing.

A line is additional evidence for a cause. It is text from outside: bounded here, escaped and redacted where it is shown.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass

from ...model.events import Log

LINES_MOST = 200
"""Latest lines that are remembered."""

LENGTH_MOST = 200
"""Greatest length of a line: exceptions of database drivers have their reason at the end of 150 characters."""

_NO_PORTS = re.compile(r"cannot assign requested address|can't assign requested address|no free (?:local |source )?ports", re.I)

AROUND_S = 2.0
"""A line up to so many seconds before a failure may be about it: a service often logs before it replies."""

_ERROR = re.compile(
    r"\b(?:error|exception|fatal|panic|critical|emerg|alert|too many|exhaust\w*|refused|denied|timed? ?out|unavailable|cannot"
    r"|can't|could not|failed|failure|out of|no space|deadlock|overload\w*)\b",
    re.IGNORECASE,
)
_VARYING = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}|0x[0-9a-fA-F]+|\d+(?:[.:/-]\d+)*")
"""Tokens, ids, addresses, times and numbers."""
_TOKEN = re.compile(r"(?=[\w+/=~-]*\d)(?=[\w+/=~-]*[A-Za-z])[\w+/=~-]{20,}|[\w+/=~-]{40,}|0x[0-9a-fA-F]+")
"""Tokens and ids in the reason of a traceback, in which numbers (a pool's size) and the exception's name stay."""
_LEADING = re.compile(r"^(?:[\s#\[\](),:.*-]+|(?:warn|error|crit|alert|emerg)\] )+")
"""What remains at the beginning of a line of its time, its process and nginx's level after folding."""


# -- the reason of a traceback

_PYTHON = re.compile(r"^(?P<indent>.*?)Traceback \(most recent call last\):")
_PYTHON_REASON = re.compile(r"[A-Za-z_][\w.]*[a-z]\w*(?:: .*)?$")
_RUST = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at ")
_NAMED = re.compile(
    r"^[\s|+>-]*"
    r"(?:Caused by: |Exception in thread \"[^\"]*\" |Unhandled exception\. |Uncaught |\[cause\]: )*"
    r"(?P<reason>(?:[A-Za-z_$][\w$]*(?:\.|::|\\))*(?:[A-Z]\w*)?(?:Error|Exception|Timeout|Failure)(?: \[\w+\])?: \S.*)$"
)
"""Java, .NET, Node and Python: an exception's name and its message, which their logs print on a line of its own."""
_GO = re.compile(r"(?:^|\s)(?:http: panic serving \S+: (?P<served>.+)|(?P<reason>(?:panic|fatal error): .+))$")
_RUBY = re.compile(r":in [`'].*': (?P<reason>.+ \((?:\w+::)*\w*(?:Error|Exception|Timeout)\))$")


@dataclass(frozen=True, slots=True)
class Logged:
    """A line of the target's log."""

    text: str = ""
    """Bounded and folded; empty: there is none."""
    is_reason: bool = False
    """Whether it is the reason of a traceback."""


class TargetLog:
    """The latest lines that report an error."""

    def __init__(self) -> None:
        self._lines: deque[tuple[float, Logged, str, int]] = deque(maxlen=LINES_MOST)
        """(time, line, its folded text, how often it was printed)."""
        self._indent: str | None = None
        """Inside a traceback of Python: what stands before its first line and its last."""
        self._is_next = False
        """Whether the next line is the reason of a panic."""

    def add(self, log: Log) -> None:
        """Keep a line of the target that reports an error; others are ignored."""
        if log.source != "target":
            return
        for line in log.text.split("\\n") if "Traceback (most" in log.text else (log.text,):  # a traceback as text of JSON
            reason = self._reason_in(line[: LENGTH_MOST * 4])
            if reason is not None:
                self._lines.append((log.t_s, Logged(_short(_TOKEN.sub("#", reason)), True), folded(reason), log.repeated))
            elif _ERROR.search(line):
                self._lines.append((log.t_s, Logged(folded(line)), folded(line), log.repeated))

    def _reason_in(self, line: str) -> str | None:
        """The reason of a traceback, if it is in this line."""
        is_next, self._is_next = self._is_next, bool(_RUST.match(line))
        if is_next:
            return line.strip()
        begun = _PYTHON.match(line)
        if begun is not None:
            self._indent = begun["indent"]
            return None
        if self._indent is not None and line.startswith(self._indent):
            text = line[len(self._indent) :]
            if _PYTHON_REASON.match(text):
                self._indent = None
                return text
        found = _NAMED.search(line) or _GO.search(line) or _RUBY.search(line)
        return next((text for text in found.groups() if text), None) if found is not None else None

    def says_no_ports(self, t_s: float) -> bool:
        """Whether a line from AROUND_S before `t_s` on says that a connection could not be opened for lack of a local port."""
        return any(at_s >= t_s - AROUND_S and _NO_PORTS.search(line.text) for at_s, line, _, _ in self._lines)

    def around(self, t_s: float) -> Logged:
        """The most frequent reason of a traceback from AROUND_S before `t_s` on, else the most frequent line. Of several
        the last: the outermost exception of Python, and the root of a chain of causes in Java and Node.
        """
        counts: Counter[str] = Counter()
        latest: dict[str, Logged] = {}
        for at_s, line, text, count in self._lines:
            if at_s >= t_s - AROUND_S:
                counts[text] += count
                latest.pop(text, None)
                latest[text] = line
        candidates = [text for text, line in latest.items() if line.is_reason] or list(latest)
        best = max(reversed(candidates), key=lambda text: counts[text], default=None)
        return Logged() if best is None else latest[best]


def folded(line: str) -> str:
    """The line with numbers, times and ids replaced by #, on one line of at most LENGTH_MOST, cut at the end of a word."""
    return _short(_LEADING.sub("", _VARYING.sub("#", " ".join(line[: LENGTH_MOST * 4].split()))))


def _short(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= LENGTH_MOST else text[:LENGTH_MOST].rpartition(" ")[0]
