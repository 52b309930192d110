"""A run in the background that this process steps: an ordinary `capexplorer run --detach`, its socket, and its log.

It has its own target, supervisor, log and judgement. If this process is killed, it ends by itself after `[guards] unattended_s`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ... import wording
from ...errors import CapexplorerError, ExitCode, InputError
from ...model.controls import Control, EndRun
from ...model.events import Target
from ...model.timeline import Timeline
from ...remote import run_sockets
from ...remote.attached import RemoteControls, RunConnection
from ...remote.protocol import Do
from ...session.reader import SessionReader, open_session
from .. import shared_options
from ..run.arguments import RunArguments
from ..stop import ENDS_WITHIN_S

STARTS_WITHIN_S = 30.0
"""After a signal: time in which a run that is still starting ends its target."""
SCREEN = "capexplorer ab"
"""The name of this process among the screens of a run."""
PREFIX = "capexplorer: "
"""Of a child's error on stderr."""


class ChildError(CapexplorerError):
    """A run failed: it could not start, its target ended, or somebody ended it."""

    exit_code = ExitCode.FAILED


class ChildRun:
    """Starts at construction; `attach` waits until its target is ready. Ends by `ask_to_end`, then `wait_until_over`."""

    def __init__(self, name: str, arguments: RunArguments, folder: Path, pause: Callable[[], None]) -> None:
        """`pause`: waits for a moment; may raise."""
        self.name, self._pause = name, pause
        self.timeline = Timeline()
        self.session = ""
        """Its id; empty until its target is ready."""
        command = [sys.executable, "-P", "-m", "capexplorer", "run", *shared_options.words(arguments)]
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for this process, which ends the run
        )
        self._connection: RunConnection | None = None
        self._controls: RemoteControls | None = None
        self._log: SessionReader | None = None

    @property
    def path(self) -> Path:
        """Its log; once attached."""
        assert self._connection is not None
        return Path(self._connection.welcome.path)

    @property
    def max_users(self) -> int:
        """Its limit guards.max_users; once attached."""
        assert self._controls is not None
        return self._controls.setup.max_users

    @property
    def can_restart(self) -> bool:
        """Whether it started its target; once attached."""
        assert self._controls is not None
        return self._controls.setup.can_restart

    def attach(self) -> None:
        """Wait until its target is ready, and take the controls. Raises InputError, ChildError: why it did not start."""
        self._wait_until_started()
        self._connection = RunConnection(run_sockets.running()[self.session], "steer", SCREEN)
        self._controls = RemoteControls(self._connection)
        self._log = open_session(self.path)
        self.timeline.apply(self._log.header)
        self.follow()

    def _wait_until_started(self) -> None:
        while self._process.poll() is None:  # it prints less than a pipe holds
            self._pause()
        out, err = self._process.communicate()
        self.session = out.strip()
        if not self.session:
            errors = [line for line in err.splitlines() if line.startswith(PREFIX)]
            wrong = f"{self.name}: {(errors or ['the run did not start'])[-1].removeprefix(PREFIX)}"
            raise InputError(wrong) if self._process.returncode == InputError.exit_code else ChildError(wrong)

    def do(self, control: Control) -> None:
        """Have it done. Raises ChildError: it is refused."""
        assert self._controls is not None
        if wrong := self._controls.do(control):
            raise ChildError(f"{self.name}: {wrong}")

    def follow(self) -> None:
        """Take what happened since. Raises ChildError: it cannot go on."""
        assert self._controls is not None and self._connection is not None
        self._controls.poll()
        self._take_log()
        if why := self._why_over(self._controls, self._connection):
            raise ChildError(f"{self.name}: {why}")

    def _take_log(self) -> None:
        while self._log is not None and (part := self._log.read_on(wait=True)):
            for _, event in part:
                if event is not None:
                    self.timeline.apply(event)

    def _why_over(self, controls: RemoteControls, connection: RunConnection) -> str:
        timeline, state = self.timeline, controls.state
        if timeline.target is not None and timeline.target.state in ("died", "failed"):
            return wording.target(timeline.target)
        if timeline.ended is not None or connection.is_over:
            return f"its run has ended: {timeline.ended.reason if timeline.ended is not None else 'by another screen'}"
        if state.connected and not state.holds:
            return f"{state.holder or 'another screen'} has taken the controls"
        return ""

    @property
    def starts(self) -> int:
        """How often its target became ready."""
        return sum(isinstance(each, Target) and each.state == "ready" for each in self.timeline.journal)

    # -- the end

    def ask_to_end(self) -> None:
        """Let it end. Without effect if it has ended."""
        if self._process.returncode is None:
            self._process.terminate()  # ends a target that is not ready; else the run is in another process already
            self.session = self._process.communicate(timeout=STARTS_WITHIN_S)[0].strip()
        if self._controls is not None:
            self._controls.do(EndRun())
        elif self.session and (socket := run_sockets.running().get(self.session)) is not None:
            self._connection = RunConnection(socket, "stop", SCREEN)
            self._connection.send(Do(number=1, control=EndRun()))

    def wait_until_over(self) -> None:
        """Wait until its session is saved, and take the rest of the log. Raises InputError: it does not end."""
        if self._connection is None:
            return
        try:
            self._connection.wait_until_over(ENDS_WITHIN_S)
            self._take_log()
        finally:
            self._connection.close()
            if self._log is not None:
                self._log.close()
