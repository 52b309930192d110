"""The connection to one part: the process of its transport, the reader at the other end, and the time of each reading.

The transport gives a shell: `sh` on this machine, or with a command such as `ssh web1` before it. The first line sent finds out
whether Python 3 is there; the reader is sent only after the answer, so that the shell does not buffer input that is meant for
Python. Then each poll is one line, and each answer one raw reading. Nothing is installed on the other machine, and a reader ends
with its input, so nothing outlives the connection.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..procs.lines import LineSplitter, Unsent
from .messages import RawReading, ShellLines, decoded

_HERE = Path(__file__).parent
_READER = (_HERE / "remote_reader.py").read_bytes()
_SHELL_READER = (_HERE / "shell_reader.sh").read_bytes()

_CHOOSE_READER = f"""if command -v python3 >/dev/null 2>&1; then exec python3 -I -S -c '
import os
os.write(1, b"\\ncapexplorer python\\n")
text = b""
while len(text) < {len(_READER)}:
    text += os.read(0, {len(_READER)} - len(text)) or os._exit(0)
exec(compile(text, "reader", "exec"))
'; else echo; echo capexplorer shell; fi
""".encode()
"""The answer begins with a line end, since a shell may print a greeting that does not end with one."""

_SSH_OPTIONS = ("-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5", "-oServerAliveCountMax=3")
"""ssh must not ask questions on the screen's terminal, and must detect a dead connection."""

_RETRY_AFTER_S = (1.0, 2.0, 5.0, 10.0)
"""Seconds before each further attempt; the last one from then on."""

_UNANSWERED_MOST_BYTES = 8 << 20
"""Bytes since the last answer from which what arrives is not a reader's. The longest answer, with /proc/PID/stat of 20,000
processes, has about 6 MB."""
_AT_ONCE_MOST_BYTES = 1 << 20
"""Bytes taken from a pipe in one call, so that a transport that prints without end does not keep other parts waiting."""
_PIECE_BYTES = 1 << 16
_ERRORS_MOST_BYTES = 4096
"""Of stderr the end is kept: its last line says why the transport ended."""
_OFFSETS_KEPT = 16
_SHELL_ROUNDING_S = 0.5
"""The shell's `date` gives whole seconds, rounded down: on average half a second is missing, and the error is half a second."""


@dataclass(frozen=True, slots=True)
class TimedReading:
    """A raw reading, and when it was taken, by this machine's `time.monotonic`."""

    raw: RawReading
    at_s: float


class PartLink:
    """One part's transport. All methods are called by one thread, and none of them blocks."""

    def __init__(self, command: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._command, self._clock = command_of(command), clock
        self.reader: Literal["python", "shell"] | None = None
        """None until the reader has started."""
        self.why: str | None = None
        """Why there are no readings: the last line that the transport printed on stderr."""
        self.process: subprocess.Popen[bytes] | None = None
        self._input, self._unsent = LineSplitter(), Unsent(-1)
        self._unanswered_bytes = 0
        """Bytes that have arrived since the last answer."""
        self._errors = b""
        self._shell_lines = ShellLines()
        self._polled: tuple[float, float] | None = None
        """When the poll was sent that is not answered yet: (monotonic time, wall-clock time)."""
        self._offsets: list[tuple[float, float]] = []
        """(error, offset) by the latest answers."""
        self._attempts, self._retry_at_s = 0, 0.0

    @property
    def clock_offset_s(self) -> tuple[float, float] | None:
        """(the other clock minus ours, its error bound: half of the shortest round trip). None: unknown."""
        error, offset = min(self._offsets, default=(None, None))
        return None if offset is None or error is None else (offset, error)

    def poll(self, line: bytes) -> None:
        """Request a raw reading by sending `line`. If the transport does not run, starts it, at most as often as `_RETRY_AFTER_S`
        says."""
        if self.process is None:
            if self._clock() >= self._retry_at_s:
                self._start()
            return
        if self.reader is not None and self._polled is None:
            self._polled = self._clock(), time.time()
            self._send(line + b"\n")

    def _start(self) -> None:
        self._input, self._errors, self._unanswered_bytes = LineSplitter(), b"", 0
        self._shell_lines, self._polled, self.reader = ShellLines(), None, None
        self._offsets.clear()
        try:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in a word
            self._failed(f"{self._command[0]}: {getattr(error, 'strerror', None) or error}")
            return
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        assert self.process.stdin is not None
        self._unsent = Unsent(self.process.stdin.fileno())
        self._send(_CHOOSE_READER)

    def _send(self, text: bytes) -> None:
        self._unsent.add(text)
        self._unsent.flush()  # `take` notices a broken pipe

    def descriptors(self) -> list[int]:
        """Descriptors that become readable when there is something to `take`."""
        if self.process is None:
            return []
        assert self.process.stdout is not None and self.process.stderr is not None
        return [self.process.stdout.fileno(), self.process.stderr.fileno()]

    def take(self) -> Iterator[TimedReading]:
        """The readings that have arrived. Notices the end of the transport."""
        if self.process is None:
            return
        assert self.process.stdout is not None and self.process.stderr is not None
        self._unsent.flush()
        arrived = _read(self.process.stdout.fileno())
        if errors := _read(self.process.stderr.fileno()):  # after stdout: at its end, the reason has been printed
            self._errors = (self._errors + errors)[-_ERRORS_MOST_BYTES:]
        self._unanswered_bytes += len(errors or b"") + len(arrived or b"")
        for line in self._input.add(arrived or b""):
            if (reading := self._line(line)) is not None:
                yield reading
        if arrived is None:
            lines_of_stderr = self._errors.decode("utf-8", "replace").splitlines()
            self._failed(next((line for line in reversed(lines_of_stderr) if line.strip()), "the transport ended"))
        elif self._unanswered_bytes > _UNANSWERED_MOST_BYTES:
            self._failed(f"the transport printed more than {_UNANSWERED_MOST_BYTES >> 20} MiB without an answer of the reader")

    def _line(self, line: bytes) -> TimedReading | None:
        if self.reader is None:
            match line:
                case b"capexplorer python":
                    self.reader = "python"
                    self._send(_READER)
                case b"capexplorer shell":
                    self.reader = "shell"
                    self._send(_SHELL_READER)
            return None
        try:
            raw = decoded(line) if self.reader == "python" else self._shell_lines.add(line.decode("utf-8", "replace"))
        except ValueError:
            return None
        if raw is None or self._polled is None:
            return None
        return self._answered(raw, *self._polled)

    def _answered(self, raw: RawReading, sent_s: float, sent_wall_s: float) -> TimedReading:
        """The reading was taken between poll and answer: on average after half of the round trip."""
        trip_s = self._clock() - sent_s
        self._polled, self._attempts, self.why = None, 0, None
        self._unanswered_bytes = 0
        rounded_s = _SHELL_ROUNDING_S if self.reader == "shell" else 0.0
        offset_s = raw.wall + rounded_s - sent_wall_s - trip_s / 2
        self._offsets = [*self._offsets, (trip_s / 2 + rounded_s, offset_s)][-_OFFSETS_KEPT:]
        return TimedReading(raw, sent_s + trip_s / 2)

    def _failed(self, why: str) -> None:
        self.close()
        self.why, self.reader, self._polled = why.strip()[:200], None, None
        self._retry_at_s = self._clock() + _RETRY_AFTER_S[min(self._attempts, len(_RETRY_AFTER_S) - 1)]
        self._attempts += 1

    def close(self) -> None:
        """End the transport: its input first, then its process group."""
        process, self.process = self.process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def command_of(transport: str) -> list[str]:
    """The command line of a transport with the shell that it starts."""
    words = shlex.split(transport)
    if words and words[0].rpartition("/")[2] == "ssh":
        words[1:1] = _SSH_OPTIONS
    return [*words, "sh"]


def _read(descriptor: int) -> bytes | None:
    """The bytes that have arrived, at most about `_AT_ONCE_MOST_BYTES`; None at the end of the stream."""
    pieces: list[bytes] = []
    with suppress(BlockingIOError):
        for _ in range(_AT_ONCE_MOST_BYTES // _PIECE_BYTES):
            if not (piece := os.read(descriptor, _PIECE_BYTES)):
                return b"".join(pieces) or None
            pieces.append(piece)
    return b"".join(pieces)
