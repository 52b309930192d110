"""A dialog that asks for one answer of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ..keybar import LIKE_LESS


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
