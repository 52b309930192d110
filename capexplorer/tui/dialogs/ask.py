"""Dialogs that ask for a line of text, or for yes or no. The caller checks and uses the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..keybar import LIKE_LESS

Check = Callable[[str], str | None]
"""Why an answer is invalid, as a sentence; None if it is valid."""


class Ask(ModalScreen[str | None]):
    """Asks for one line of text. Returns it, or None if it was cancelled."""

    CSS_PATH = "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, title: str, hint: str, check: Check, *, value: str = "") -> None:
        super().__init__()
        self._title, self._hint, self._check, self._value = title, hint, check, value

    def compose(self) -> ComposeResult:
        """Title, input, hint."""
        with Vertical(classes="box") as box:
            box.border_title = Text(self._title)
            yield Input(self._value, compact=True)
            yield Static(Text(self._hint), classes="hint")
            yield Static(Text("Enter: OK    Esc: cancel"), classes="keys")

    def on_input_changed(self) -> None:
        """Remove an error message when the input changes."""
        self._show_message(self._hint, wrong=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return a valid answer; for an invalid one, show why and stay open."""
        wrong = self._check(event.value.strip())
        if wrong is None:
            self.dismiss(event.value.strip())
        else:
            self._show_message(wrong, wrong=True)

    def _show_message(self, message: str, *, wrong: bool) -> None:
        hint = self.query_one(".hint", Static)
        hint.update(Text(message))
        hint.set_class(wrong, "wrong")


class Confirm(ModalScreen[bool]):
    """Asks for yes or no. Returns whether it was yes."""

    CSS_PATH = "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "dismiss(True)", show=False),
        Binding("escape,n,q", "dismiss(False)", show=False),
    ]

    YES = "Enter or y"

    def __init__(self, title: str, question: str, yes: str) -> None:
        super().__init__()
        self._title, self._question, self._yes = title, question, yes

    def compose(self) -> ComposeResult:
        """Title, question, the keys."""
        with Vertical(classes="box") as box:
            box.border_title = Text(self._title)
            yield Static(Text(self._question))
            yield Static(Text(f"{self.YES}: {self._yes}    Esc or n: cancel"), classes="keys")


class Quit(Confirm):
    """Asks whether to quit while load runs. The key q, which opened the dialog, also confirms."""

    YES = "Enter, y or q"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "dismiss(True)", show=False)]


# -- choose --------------------------------------------------------------------------------------------------------------------
# A dialog that asks for one answer of a list.


class Choose(ModalScreen[str | None]):
    """Returns the chosen answer, or None if it was cancelled."""

    CSS_PATH = "choose.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", show=False), *LIKE_LESS]

    def __init__(self, title: str, answers: Mapping[str, str]) -> None:
        """`answers`: the meaning of each answer."""
        super().__init__()
        self._title, self._answers = title, answers

    def compose(self) -> ComposeResult:
        """The answers, and the keys."""
        with Vertical(classes="box") as box:
            box.border_title = Text(self._title)
            names = max(map(len, self._answers), default=0)
            options = (Option(Text(f"{each:{names}}  {words}"), id=each) for each, words in self._answers.items())
            yield OptionList(*options, markup=False)
            yield Static(Text("↑ ↓ choose    Enter: OK    Esc: cancel"), classes="keys")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the selected answer."""
        self.dismiss(event.option.id)
