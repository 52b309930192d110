"""The lines that the shell shows after the live screen closed: the verdict, the session's file, and commands for it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .. import paths, wording
from ..errors import CapexplorerError, InputError
from ..model.timeline import Timeline
from .terminal import plain_characters, print_line, printable, with_whole_commands


def print_session(timeline: Timeline, path: Path | None) -> None:
    """Prints to stderr. Nothing if nothing was saved; no verdict if no level began."""
    if path is None:
        return
    if timeline.levels:
        _print_sentence(f"verdict: {wording.verdict(timeline)}")
    for sentence in wording.operating_loads(timeline):
        _print_sentence(f"recommended: {sentence}")
    for each in timeline.answers:
        _print_sentence(f"required: {wording.answer(each)}")
    print_line(f"saved: {path}")
    print_line("to replay it, or to export it as a page:")
    for words in (["replay"], ["export", "--format", "html", "-o", f"{path.stem}.html"]):
        print_line(printed_command(words[0], session_name(path), *words[1:]))


def _print_sentence(text: str) -> None:
    """In lines of whole words and of whole commands, as wide as the terminal."""
    width = shutil.get_terminal_size().columns
    text = with_whole_commands(printable(text))
    print_line(plain_characters(textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)))


def run_goes_on(session: str) -> Sequence[str]:
    """The lines that say how to get a screen of a run again, or to end it: each command has a line of its own."""
    return (
        "the run goes on without this screen; to show it again, or to end it:",
        printed_command("attach", session),
        printed_command("stop", session),
    )


def printed_command(*words: str) -> str:
    """A command of this program on a line of its own, which a shell accepts as it is printed. Where the terminal is too narrow it
    continues after a backslash.
    """
    lines, width = [f"  {shlex.quote(program_name())}"], shutil.get_terminal_size().columns
    for word in map(shlex.quote, words):
        if not os.isatty(2) or len(lines[-1]) + len(word) + len("  \\") <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"    {word}")
    return "\n".join(lines)


def require_log(path: Path) -> None:
    """For a run that has ended: raises InputError if its log is gone, so that no command is named that cannot find it."""
    if not path.exists():
        raise InputError(f"{path}: the run has ended, but its log was removed while it went on")


def session_name(path: Path) -> str:
    """The session's name for `replay` and `export`: its id, or its path if they look elsewhere."""
    usual: Sequence[Path] = ()
    with suppress(CapexplorerError):  # no home folder, and the run had another one
        usual = paths.usual_sessions()
    return path.stem if path.parent.resolve() in {folder.resolve() for folder in usual} else _short(path)


def program_name() -> str:
    """`capexplorer` if the shell finds this program by that name; else its path, relative to the working folder if possible."""
    script = Path(sys.executable).with_name("capexplorer")
    found = shutil.which("capexplorer")
    if found is not None and Path(found).resolve() == script.resolve():
        return "capexplorer"
    return _short(script)


def _short(path: Path) -> str:
    """The path, relative to the working folder if it is below it; always with a slash, which makes it a path for any reader."""
    relative = os.path.relpath(path)
    if relative.startswith(".."):
        return str(path.resolve())
    return relative if os.sep in relative else os.path.join(".", relative)
