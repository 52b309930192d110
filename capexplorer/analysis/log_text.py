"""Lines of a service's log: what varies in them replaced, and which of them belong to a traceback.

Reads what Python, Go, Rust, Java, .NET, Node and Ruby print of an exception. A line is text from outside: bounded here, escaped
and redacted where it is shown.
"""

from __future__ import annotations

import re

import msgspec

LENGTH_MOST = 200
"""Greatest length of a line: exceptions of database drivers have their reason at the end of 150 characters."""

_READ_MOST = 4 * LENGTH_MOST
"""Characters of a line that are looked at."""

_VARYING = re.compile(r"[\w+/=.~-]{24,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}|0x[0-9a-fA-F]+|\d+(?:[.:/-]\d+)*")
"""Tokens, ids, addresses, times and numbers."""
_TOKEN = re.compile(r"(?=[\w+/=~-]*\d)(?=[\w+/=~-]*[A-Za-z])[\w+/=~-]{20,}|[\w+/=~-]{40,}|0x[0-9a-fA-F]+")
"""Tokens and ids in the reason of a traceback, in which numbers (a pool's size) and the exception's name stay."""
_LEADING = re.compile(r"^(?:[\s#\[\](),:.*-]+|(?:warn|error|crit|alert|emerg)\] )+")
"""What remains at the beginning of a line of its time, its process and nginx's level after folding."""


def folded(line: str) -> str:
    """The line with numbers, times and ids replaced by #, on one line of at most LENGTH_MOST, cut at the end of a word."""
    return _short(_LEADING.sub("", _VARYING.sub("#", " ".join(line[:_READ_MOST].split()))))


def grouped(line: str) -> str:
    """The folded line with one # in place of a word that contains one, such as an id of a few hexadecimal digits or `12ms`."""
    return _WORD_THAT_VARIES.sub("#", folded(line))


_WORD_THAT_VARIES = re.compile(r"\w*#[\w#]*")


def without_tokens(reason: str) -> str:
    """The reason of a traceback with tokens and ids replaced by #, as short as a folded line. Its numbers stay."""
    return _short(_TOKEN.sub("#", reason))


def _short(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= LENGTH_MOST else text[:LENGTH_MOST].rpartition(" ")[0]


# -- tracebacks

_PYTHON = re.compile(r"^(?P<indent>.*?)Traceback \(most recent call last\):")
_PYTHON_REASON = re.compile(r"[A-Za-z_][\w.]*[a-z]\w*(?:: .*)?$")
_PYTHON_CHAIN = re.compile(r"(?:During handling of the above exception|The above exception was the direct cause)")
_RUST = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at ")
_NAMED = re.compile(
    r"^[\s|+>-]*"
    r"(?:Caused by: |Exception in thread \"[^\"]*\" |Unhandled exception\. |Uncaught |\[cause\]: )*"
    r"(?P<reason>(?:[A-Za-z_$][\w$]*(?:\.|::|\\))*(?:[A-Z]\w*)?(?:Error|Exception|Timeout|Failure)(?: \[\w+\])?: \S.*)$"
)
"""Java, .NET, Node and Python: an exception's name and its message, which their logs print on a line of its own."""
_GO = re.compile(r"(?:^|\s)(?:http: panic serving \S+: (?P<served>.+)|(?P<reason>(?:panic|fatal error): .+))$")
_RUBY = re.compile(r":in [`'].*': (?P<reason>.+ \((?:\w+::)*\w*(?:Error|Exception|Timeout)\))$")
_FRAME = re.compile(
    r"^\s+at \S|^\s*\.\.\. \d+ (?:more|common frames)"  # Java, Node, .NET
    r"|^goroutine \d+ \[.*\]:|^\t\S+\.go:\d+|^created by \S+|^(?:[\w./-]+\.(?:\(\*?[\w.]+\)\.)?[\w.]+|panic)\(.*\)$"  # Go
    r"|^\s+from \S+:\d+:in "  # Ruby
)


class Line(msgspec.Struct, frozen=True):
    """What a line is."""

    reason: str | None = None
    """The reason of a traceback, unchanged; None: the line has none."""
    is_frame: bool = False
    """Whether it is another line of a traceback: its header, a call, a line of source."""


class Tracebacks:
    """Reads the lines of one log in order."""

    def __init__(self) -> None:
        self._indent: str | None = None
        """Inside a traceback of Python: what stands before its first line and its last."""
        self._is_next = False
        """Whether the next line is the reason of a panic of Rust."""

    def read(self, line: str) -> Line:
        """What the next line is."""
        line = line[:_READ_MOST]
        is_next, self._is_next = self._is_next, bool(_RUST.match(line))
        if is_next:
            return Line(line.strip())
        begun = _PYTHON.match(line)
        if begun is not None:
            self._indent = begun["indent"]
            return Line(is_frame=True)
        is_frame = self._is_next or bool(_PYTHON_CHAIN.match(line) or _FRAME.match(line))
        if self._indent is not None and line.startswith(self._indent):
            text = line[len(self._indent) :]
            if _PYTHON_REASON.match(text):
                self._indent = None
                return Line(text)
            is_frame |= text[:1].isspace() or not text
        found = _NAMED.search(line) or _GO.search(line) or _RUBY.search(line)
        reason = next((text for text in found.groups() if text), None) if found is not None else None
        return Line(reason, is_frame and reason is None)
