"""The lines that the shell shows after the live screen closed: the verdict, the session's file, and commands for it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from .. import paths, wording
from ..errors import InputError
from ..model.timeline import Timeline
from .error_output import print_line, printable


def print_session(timeline: Timeline, path: Path | None) -> None:
    """Prints to stderr. Nothing if nothing was saved; no verdict if no level began."""
    if path is None:
        return
    if timeline.levels:
        width = shutil.get_terminal_size().columns
        print_line(textwrap.fill(f"verdict: {printable(wording.verdict(timeline))}", width, break_on_hyphens=False))
    print_line(f"saved: {path}")
    program, name = shlex.quote(program_name()), shlex.quote(session_name(path))
    print_line("to replay it, or to export it as a page:")
    print_line(f"  {program} replay {name}")
    print_line(f"  {program} export {name} --format html -o {shlex.quote(f'{path.stem}.html')}")


def run_goes_on(session: str) -> Sequence[str]:
    """The lines that say how to get a screen of a run again, or to end it: each command has a line of its own."""
    program, name = shlex.quote(program_name()), shlex.quote(session)
    return (
        "the run goes on without this screen; to show it again, or to end it:",
        f"  {program} attach {name}",
        f"  {program} stop {name}",
    )


def require_log(path: Path) -> None:
    """For a run that has ended: raises InputError if its log is gone, so that no command is named that cannot find it."""
    if not path.exists():
        raise InputError(f"{path}: the run has ended, but its log was removed while it went on")


def session_name(path: Path) -> str:
    """The session's name for `replay` and `export`: its id, or its path if it is not in the usual folder."""
    usual = paths.sessions()
    return path.stem if path.parent.resolve() == usual.resolve() else str(path.resolve())


def program_name() -> str:
    """`capexplorer` if the shell finds this program by that name; else its path, relative to the working folder if possible."""
    script = Path(sys.executable).with_name("capexplorer")
    found = shutil.which("capexplorer")
    if found is not None and Path(found).resolve() == script.resolve():
        return "capexplorer"
    relative = os.path.relpath(script)
    return relative if not relative.startswith("..") else str(script)
