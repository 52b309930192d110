"""The help screen: the keys, and what the figures mean."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from .keys import KEYS

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
    (
        "Loop lag",
        "is how late a 10 ms timer in the load thread's loop comes: the error bar on every latency shown. "
        "The client's floor is what the client class alone costs.",
    ),
    ("CPU", "is in cores: 1.00 is one core busy."),
    ("Goodput", "is finished work: successful requests, unless the profile names what counts."),
)

PANES = "1-6 a pane, 7 the log, Tab and Shift+Tab the next; PageUp, PageDown, Home, End scroll; Ctrl+P all commands"


class Help(ModalScreen[None]):
    """One page, scrolled with the arrow keys."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "dismiss(None)", show=False)]

    def compose(self) -> ComposeResult:
        """The page."""
        with VerticalScroll(classes="page") as page:
            page.border_title = Text("Help")
            page.border_subtitle = Text("Esc closes, arrows scroll")
            yield Static(keys_text(), classes="keys")
            yield Static(meanings_text(), classes="meanings")


def keys_text() -> Text:
    """The table of keys."""
    text = Text()
    for key in KEYS:
        text.append(f"{key.shown:>8}", "bold").append(f"  {key.help}\n")
    return text.append(f"{'panes':>8}", "bold").append(f"  {PANES}\n")


def meanings_text() -> Text:
    """What the words and signs mean."""
    text = Text()
    for word, meaning in MEANINGS:
        text.append(word, "bold").append(f" {meaning}\n")
    return text
