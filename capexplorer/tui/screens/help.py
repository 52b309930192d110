"""The help screen: the keys, and what the figures mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ...analysis import wording
from .keys import Key

MEANINGS = (
    (
        "Levels",
        "Each change of the number of users opens a level. It is spawning until the users are there, then settling for twice the "
        "mean wait plus latency (2 to 30 s), then settled. Only settled seconds make its figures.",
    ),
    (
        "Grey figures",
        "rest on too few values: p95 on fewer than 200, p99 on fewer than 1,000. They sharpen as the level goes on.",
    ),
    ("–", "was not measured: not by this system, or not yet. It is never a zero."),
    (
        "!",
        "marks a figure to look at: ports over 80% or full in under 2 min, a busy core, a late loop.",
    ),
    ("±", wording.CONVENTIONS.removeprefix("± ")),
    (
        "Loop lag",
        "is how late a 10 ms timer in the load thread's loop comes: the error bar on every latency shown. "
        "The client's floor is what the client class alone costs.",
    ),
    (
        "Knee",
        "is the user count at which the low-load line (dotted) meets the capacity line (dashed), its 90% interval hatched. "
        "A bend is not one yet. It is provisional until a minute at about 70% of it and a return to the first level agree.",
    ),
    (
        "USL fit",
        "is a picture of contention (σ) and coherency (κ), with its peak, which is not the knee. Grey while it may not stand.",
    ),
    (
        "Cause",
        "says why requests failed, and where that lies: generator, host, network, target, checks. The generator is ruled out "
        "first; while a critical cause of its own stands, nothing is said about the service. What could not be read is named.",
    ),
    ("▸", "is the verdict: one sentence, as every export has it. With … there is more of it in the failures (f)."),
    ("→", "tells which levels would sharpen the verdict, and what to do about a cause."),
    ("CPU", "is in cores: 1.00 is one core busy."),
    ("Goodput", "is finished work: successful requests, unless the profile names what counts."),
)

PANES = (
    "1-6 a pane, 7 the failures, 8 the log, Tab and Shift+Tab the next; PageUp, PageDown, Home, End scroll; Ctrl+P all commands"
)


class Help(ModalScreen[None]):
    """One page, scrolled with the arrow keys."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "dismiss(None)", show=False)]

    def __init__(self, keys: Sequence[Key]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The page."""
        with VerticalScroll(classes="page") as page:
            page.border_title = Text("Help")
            page.border_subtitle = Text("Esc closes, arrows scroll")
            yield Static(table([*((key.shown, key.help) for key in self._keys), ("panes", PANES)]))
            yield Static(table(MEANINGS), classes="meanings")


def table(rows: Sequence[tuple[str, str]]) -> Table:
    """A word and what it means, wrapped under itself."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=8, style="bold")
    grid.add_column()
    for word, meaning in rows:
        grid.add_row(Text(word), Text(meaning))
    return grid
