"""Lines by which GitHub Actions shows results beside a job (its workflow commands).

Its runner reads them from stderr as from stdout, which has the log's path for scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import wording
from ..model.timeline import Timeline
from .checks import Check
from .escaping import annotation

_COMMANDS = {"failed": "error", "undecided": "warning"}


def annotated(timeline: Timeline, checks: Sequence[Check]) -> Iterator[str]:
    """One for each check that is not passed, and one for each knee."""
    for each in checks:
        if each.state in _COMMANDS:
            yield _line(_COMMANDS[each.state], each.result, each.sentence)
    for mark in wording.current_marks(timeline).values():
        if mark.kind == "knee":
            yield _line("notice", "knee", wording.short_sentence(mark))


def _line(command: str, title: str, text: str) -> str:
    return f"::{command} title={annotation(f'capexplorer: {title}', of_title=True)}::{annotation(text)}"
