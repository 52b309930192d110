"""What is sent once a second: by a part's reader a raw reading, texts and numbers that are not interpreted; and between the app
and the process that reads all parts one line of JSON for each message.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ..model.events import PartState
from ..model.readings import PartReading
from ..model.watched import PartSpec


class RawReading(msgspec.Struct, frozen=True, kw_only=True):
    """All fields except the clocks may be missing: a shell sends only files."""

    wall: float
    """The other machine's time, in seconds since 1970."""
    boot: float
    """Seconds since its boot."""
    cpu: float | None = None
    """CPU seconds that the reader has used; None: unknown."""
    cpus: int | None = None
    ticks: int = 100
    """Clock ticks a second."""
    page: int = 4096
    """Bytes of a memory page."""
    pid: int = 0
    """Process id of the reader."""
    pids: tuple[int, ...] = ()
    """The selected processes and their descendants, parents before children."""
    why: str | None = None
    """Why there are no `pids`."""
    whole: bool = True
    """False: there are more processes or threads than a reader reads, so sums over them are unknown."""
    files: dict[str, str | None] = {}
    """Texts by path; None: access is denied, or there is no such file."""
    numbers: dict[str, int] = {}
    """`cpu_ns:PID`, `fds:PID`, `fds_limit:PID` (-1: none), `cpus_allowed`, `disk_free_bytes`; `group_cpu_ns`: of the control
    group that is the processes' own."""
    all: tuple[str, ...] = ()
    """/proc/PID/stat of every process, if that was requested."""
    sockets: tuple[int, ...] = ()
    """Inodes of the sockets of the first of `pids`, also of those that listen."""
    listeners: tuple[str, ...] = ()
    """Messages of a sock_diag dump of listening sockets, in base64."""


_decoder = msgspec.json.Decoder(RawReading)


def decoded(line: bytes) -> RawReading:
    """The raw reading that a Python reader sent. Raises ValueError for any other line."""
    try:
        return _decoder.decode(line)  # its errors are ValueErrors
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


_TIMES = re.compile(r"(\d+)m([\d.,]+)s")
"""A duration in the output of the shell's `times`, which has two lines of two durations."""


class ShellLines:
    """Gathers the lines that a shell sends: `path:line` for each line of a file, then `word value` until `end`."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._words: dict[str, str] = {}
        self._cpu_s = 0.0

    def add(self, line: str) -> RawReading | None:
        """Add a line; returns the raw reading when it is complete."""
        if line.startswith("/"):
            path, _, text = line.partition(":")
            self._texts.setdefault(path, []).append(text)
            return None
        self._cpu_s += sum(60 * int(found[1]) + float(found[2].replace(",", ".")) for found in _TIMES.finditer(line))
        word, _, value = line.partition(" ")
        self._words[word] = value
        return self._reading() if word == "end" else None

    def _reading(self) -> RawReading | None:
        files: dict[str, str | None] = {path: "\n".join(lines) for path, lines in self._texts.items()}
        words, cpu_s = self._words, self._cpu_s
        self._texts, self._words, self._cpu_s = {}, {}, 0.0
        uptime = (files.get("/proc/uptime") or "").split()
        if not uptime or not words.get("wall", "").isdecimal():
            return None
        pids = tuple(int(pid) for pid in words.get("pids", "").split() if pid.isdecimal())
        cpus = sum(line.startswith("cpu") for line in (files.get("/proc/stat") or "").splitlines()) - 1
        why = words.get("why") or None
        wall, boot = float(words["wall"]), float(uptime[0])
        return RawReading(wall=wall, boot=boot, cpu=cpu_s, cpus=max(1, cpus), pids=pids, why=why, files=files)


# -- between the app and the parts process -------------------------------------------------------------------------------------


OWN_MACHINE = "generator"
"""Name of the machine that the app, and so the parts process, runs on."""


class PartMessage(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all messages."""


class Add(PartMessage, frozen=True, tag="add"):
    """To the parts process: watch this part, too."""

    watch: PartSpec


class Poll(PartMessage, frozen=True, tag="poll"):
    """To the parts process: read all parts now."""


class Read(PartMessage, frozen=True, tag="read"):
    """To the app: a part was read at `at_s`, by `time.monotonic`, which is the same in both processes."""

    reading: PartReading
    at_s: float
    refused: tuple[str, ...] = ()
    """Names of its numbers that are not finite or too large, which the reading lacks."""


class Noticed(PartMessage, frozen=True, tag="noticed"):
    """To the app: a part was found, changed, or cannot be read. The app adds the time."""

    part: PartState


_from_app = msgspec.json.Decoder(Add | Poll)
_to_app = msgspec.json.Decoder(Read | Noticed)


def line(message: PartMessage) -> bytes:
    """A message as a line, with its newline."""
    return msgspec.json.encode(message) + b"\n"


def request_of(text: bytes) -> Add | Poll:
    """A message of the app. Raises ValueError for any other line."""
    found: Any = _from_app.decode(text)
    return found  # type: ignore[no-any-return]


def reported(text: bytes) -> Read | Noticed:
    """A message of the parts process. Raises ValueError for any other line."""
    found: Any = _to_app.decode(text)
    return found  # type: ignore[no-any-return]
