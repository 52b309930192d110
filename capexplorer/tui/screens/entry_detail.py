"""The lines below the picker's list: the highlighted entry in full, or a message."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Static

from ..render.text import safe, shorten, wrap

LINES = 3
"""One line with facts on the entry, and two with its result."""


class EntryDetail(Static):
    """Shows an entry or a message, in at most LINES lines of `width` cells."""

    def show_entry(self, facts: Sequence[str], result: str, width: int) -> None:
        """Show the facts on one line, and below them the result, shortened if it is too long."""
        lines = [_fitted(facts, width), *wrap(safe(result), width)]
        if len(lines) > LINES:
            lines[LINES - 1 :] = [shorten(" ".join(lines[LINES - 1 :]), width)]
        self.update(Text("\n").join(Text(line, "" if index else "bold") for index, line in enumerate(lines)))

    def show_message(self, message: str, width: int) -> None:
        """Show a message, cut if it is too long."""
        self.update(Text("\n".join(wrap(safe(message), width)[:LINES])))


def _fitted(facts: Sequence[str], width: int) -> str:
    """The first fact, and as many others as fit after it."""
    line = shorten(safe("".join(facts[:1])), width)
    for fact in map(safe, facts[1:]):
        if cell_len(line) + 2 + cell_len(fact) > width:
            break
        line += f"  {fact}"
    return line
