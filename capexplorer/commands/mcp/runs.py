"""The runs that an agent has started: each is `capexplorer run --headless`, in a process that ends it with this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import anyio

from ...errors import CapexplorerError, InputError
from ...model.timeline import Timeline
from ...procs import isolated
from ...replay import Replay

POLL_S = 0.25
"""Seconds between two checks of the output or the log of a run."""
_OUTPUT_BYTES = 65_536


class AgentRun:
    """One run."""

    def __init__(self, words: Sequence[str], most_s: float) -> None:
        self._stdout, self._stderr = TemporaryFile(), TemporaryFile()
        """Files, since nobody reads pipes in time."""
        command = [sys.executable, "-P", "-m", "capexplorer", "run", *words]
        self._process = subprocess.Popen(
            isolated.command("capexplorer.procs.bounded_process", str(most_s), *command),
            stdin=subprocess.PIPE,
            stdout=self._stdout,
            stderr=self._stderr,
            start_new_session=True,  # some clients kill the server's process group, which must not cut off the log
        )

    @property
    def exit_code(self) -> int | None:
        """None while it goes on."""
        return self._process.poll()

    @property
    def path(self) -> Path | None:
        """Of its log, once that is written."""
        path, line_end, _ = _text(self._stdout).partition("\n")
        return Path(path) if line_end else None

    @property
    def error(self) -> str:
        """Why it failed, in one line."""
        errors = [line for line in _text(self._stderr).splitlines() if line.startswith("capexplorer: ")]
        return errors[-1].removeprefix("capexplorer: ") if errors else f"the run ended with exit code {self.exit_code}"

    def ask_to_end(self) -> None:
        """Its session is saved before it ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close(self) -> None:
        """Ask it to end; its session is saved without this process."""
        self.ask_to_end()
        self._stdout.close()
        self._stderr.close()

    async def wait(self) -> None:
        """Wait until it has ended."""
        while self.exit_code is None:
            await anyio.sleep(POLL_S)


def _text(file: IO[bytes]) -> str:
    """The end of a file to which a process writes: its position, which they share, stays."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), _OUTPUT_BYTES, max(0, size - _OUTPUT_BYTES)).decode("utf-8", "replace")


class Runs:
    """All of them."""

    def __init__(self, most: int) -> None:
        self._most, self._started = most, list[AgentRun]()

    def close(self) -> None:
        """Ask all of them to end."""
        for each in self._started:
            each.close()

    def of(self, log: Path) -> AgentRun | None:
        """The run that writes, or wrote, this log; None: it was started elsewhere."""
        return next((each for each in self._started if each.path is not None and each.path.resolve() == log.resolve()), None)

    async def start(self, words: Sequence[str], most_s: float, within_s: float) -> Path:
        """Start a run; returns its log when the service is ready, or `within_s` after the log began. Raises CapexplorerError: the
        run's own error, or there are too many.
        """
        going_on = [each for each in self._started if each.exit_code is None]
        if len(going_on) >= self._most:
            raise InputError(f"run: {len(going_on)} of at most {self._most} goes on: `stop` it, or `follow` it to its end")
        run = AgentRun(words, most_s)
        self._started.append(run)
        try:
            return await _log_of(run, within_s)
        except BaseException:  # a call that was cancelled has no id of the run
            run.ask_to_end()
            raise


async def _log_of(run: AgentRun, within_s: float) -> Path:
    while run.path is None and run.exit_code is None:
        await anyio.sleep(POLL_S)
    if run.path is None:
        raise CapexplorerError(run.error)
    log = Replay(run.path, follow=True)
    try:
        with anyio.move_on_after(within_s):
            while run.exit_code is None and not _is_ready(now(log)):
                await anyio.sleep(POLL_S)
        if run.exit_code is not None and not _is_ready(now(log)):
            raise CapexplorerError(run.error)
    finally:
        log.close()
    return run.path


def now(log: Replay) -> Timeline:
    """The timeline of all that is written."""
    log.read_on()
    return log.at(log.duration_s)


def _is_ready(timeline: Timeline) -> bool:
    return bool(timeline.levels) or (timeline.target is not None and timeline.target.state == "ready")
