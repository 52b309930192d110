"""The exceptions that a command turns into one line and an exit code.

    CapexplorerError
    +-- InputError           2   wrong input: names the file, the key, what was expected
    |   +-- SessionError     2   a session file cannot be read
    +-- TargetError          4   the target could not be started, or died
    +-- LogWriteError        4   the session log could not be written

Any other exception that reaches the command line is a defect of capexplorer (exit code 1).
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command has ended, besides 128 + N for signal N. docs/man.py has the words of each."""

    DONE = 0
    DEFECT = 1
    INPUT = 2
    NOT_MET = 3
    FAILED = 4
    UNDECIDED = 5


class CapexplorerError(Exception):
    """Base of all errors that are reported in one line. `exit_code` is the process's."""

    exit_code: int = ExitCode.DEFECT


class InputError(CapexplorerError):
    """Wrong input: a file, a key, an option."""

    exit_code = ExitCode.INPUT


class SessionError(InputError):
    """A session log that cannot be read: not found, not a session log, or of a newer schema."""


class TargetError(CapexplorerError):
    """The target could not be started, did not become ready, or died. `output` holds its last lines."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, output: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.output = output


class LogWriteError(CapexplorerError):
    """The session log could not be written (disk full, folder read-only)."""

    exit_code = ExitCode.FAILED
