"""The form for the target's parameters, with which it restarts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ...errors import InputError
from ...model.param import Param
from ..render.text import safe, shorten

HINT = "An empty field keeps its value. A changed value begins a new epoch."


class TargetForm(ModalScreen[bool]):
    """Has one line for each parameter. Returns whether the target was restarted."""

    CSS_PATH = "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", show=False),
        Binding("enter", "submit", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, name: str, params: Mapping[str, Param], restart: Callable[[Mapping[str, str]], None]) -> None:
        super().__init__()
        self._name, self._restart = name, restart
        self._params = {key: written(value) for key, value in params.items()}

    def compose(self) -> ComposeResult:
        """One row for each parameter."""
        with Vertical(classes="box") as box:
            box.border_title = Text(f"Restart {self._name}")
            with VerticalScroll(classes="fields", can_focus=False):
                for key, value in self._params.items():
                    with Horizontal(classes="field"):
                        yield Static(Text(shorten(safe(key), 18)))
                        yield Input(value, compact=True, name=key)
            yield Static(Text(HINT if self._params else "The target has no parameters."), classes="hint")
            yield Static(Text("Tab: next field    Enter: restart    Esc: cancel"), classes="keys")

    def on_input_submitted(self) -> None:
        """Enter in any field."""
        self.action_submit()

    def action_submit(self) -> None:
        """Restart with the changed parameters; if one is wrong, show why and keep the form open."""
        try:
            self._restart(self.changes())
        except InputError as error:
            hint = self.query_one(".hint", Static)
            hint.update(Text(safe(str(error))))
            hint.add_class("wrong")
        else:
            self.dismiss(True)

    def changes(self) -> dict[str, str]:
        """The parameters whose text was changed."""
        typed = {str(field.name): field.value.strip() for field in self.query(Input)}
        return {key: value for key, value in typed.items() if value and value != self._params[key]}


def written(value: Param) -> str:
    """A value as it is typed, with `true` and `false` as in TOML."""
    return str(value).lower() if isinstance(value, bool) else str(value)
