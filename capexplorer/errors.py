"""The exceptions that a command turns into one line and an exit code.

    CapexplorerError
    +-- InputError           2   wrong input: names the file, the key, what was expected
    |   +-- SessionError     2   a session file cannot be read
    +-- TargetError          4   the target could not be started, or died
    +-- LogWriteError        4   the session log could not be written

Any other exception that reaches the command line is a defect of capexplorer (exit code 1).
"""

from __future__ import annotations


class CapexplorerError(Exception):
    """Base of all errors that are reported in one line. `exit_code` is the process's."""

    exit_code = 1


class InputError(CapexplorerError):
    """Wrong input: a file, a key, an option."""

    exit_code = 2


class SessionError(InputError):
    """A session log that cannot be read: not found, not a session log, or of a newer schema."""


class TargetError(CapexplorerError):
    """The target could not be started, did not become ready, or died. `output` holds its last lines."""

    exit_code = 4

    def __init__(self, message: str, output: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.output = output


class LogWriteError(CapexplorerError):
    """The session log could not be written (disk full, folder read-only)."""

    exit_code = 4
