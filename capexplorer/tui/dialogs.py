"""Dialogs over a screen: each asks one question and returns the answer. None knows the screen below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..errors import InputError
from ..model.controls import Param
from ..model.timeline import Timeline
from ..wording.quantities import size
from .keybar import LIKE_LESS
from .render.text import safe, shorten

Check = Callable[[str], str | None]
"""Why an answer is invalid, as a sentence; None if it is valid."""


Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A box with a title, a line on the answer, which a reason replaces if it is wrong, and a line of keys."""

    CSS_PATH = "dialogs.tcss"

    def box(self, title: str) -> Vertical:
        """The box, as a context for what it contains."""
        box = Vertical(classes="box")
        box.border_title = Text(title)
        return box

    def say(self, words: str, *, wrong: bool = False) -> None:
        """Show this in the line on the answer."""
        hint = self.query_one(".hint", Static)
        hint.update(Text(words))
        hint.set_class(wrong, "wrong")


def _hint(words: str) -> Static:
    return Static(Text(words), classes="hint")


def _keys(words: str) -> Static:
    return Static(Text(words), classes="keys")


class Ask(Dialog[str | None]):
    """Asks for one line of text. Returns it, or None if it was cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, title: str, hint: str, check: Check, *, value: str = "", examples: Iterable[str] = ()) -> None:
        """`examples`: answers that complete what is typed, by the key for the cursor's right."""
        super().__init__()
        self._title, self._hint, self._check, self._value, self._examples = title, hint, check, value, examples

    def compose(self) -> ComposeResult:
        """Title, input, hint."""
        with self.box(self._title):
            yield Input(self._value, compact=True, suggester=SuggestFromList(self._examples, case_sensitive=False))
            yield _hint(self._hint)
            yield _keys(f"Enter: OK    {'→: complete    ' if self._examples else ''}Esc: cancel")

    def on_input_changed(self) -> None:
        """Remove an error message when the input changes."""
        self.say(self._hint)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return a valid answer; for an invalid one, show why and stay open."""
        wrong = self._check(event.value.strip())
        if wrong is None:
            self.dismiss(event.value.strip())
        else:
            self.say(wrong, wrong=True)


class Confirm(Dialog[bool]):
    """Asks for yes or no. Returns whether it was yes."""

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
        with self.box(self._title):
            yield Static(Text(self._question))
            yield _keys(f"{self.YES}: {self._yes}    Esc or n: cancel")


class Quit(Confirm):
    """Asks whether to quit while load runs. The key q, which opened the dialog, also confirms."""

    YES = "Enter, y or q"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "dismiss(True)", show=False)]


class Choose(Dialog[str | None]):
    """Asks for one answer of a list. Returns it, or None if it was cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", show=False), *LIKE_LESS]

    def __init__(self, title: str, answers: Mapping[str, str]) -> None:
        """`answers`: the meaning of each answer."""
        super().__init__()
        self._title, self._answers = title, answers

    def compose(self) -> ComposeResult:
        """The answers, and the keys."""
        with self.box(self._title):
            names = max(map(len, self._answers), default=0)
            options = (Option(Text(f"{each:{names}}  {words}"), id=each) for each, words in self._answers.items())
            yield OptionList(*options, markup=False)
            yield _keys("↑ ↓ choose    Enter: OK    Esc: cancel")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the selected answer."""
        self.dismiss(event.option.id)


_HINT_WIDTH = 66
"""Width of a line in the box, in cells."""


class ExportForm(Dialog[str | None]):
    """Arrow keys choose the format, the path is typed, and Enter writes the file. Returns a message about the written file, or
    None if it was cancelled. After an error the form stays open and shows it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("down", "choose(1)", show=False, priority=True),
        Binding("up", "choose(-1)", show=False, priority=True),
    ]

    def __init__(self, timeline: Timeline) -> None:
        from ..report.formats import FORMATS

        super().__init__()
        self._timeline = timeline
        self._formats = [each for each in FORMATS.values() if each.live]
        self._chosen = 0
        self._overwrites: tuple[str, str] | None = None
        """(format, path) that the next Enter may overwrite."""

    def compose(self) -> ComposeResult:
        """Formats, path, hint, keys."""
        with self.box("Export the session so far" if self._timeline.ended is None else "Export"):
            yield Static(self._list(), classes="formats")
            yield Input(self._default(), compact=True)
            yield _hint(_folder())
            yield _keys("↑ ↓ format    Enter: write    Esc: back")

    def _list(self) -> Text:
        lines = Text()
        for index, each in enumerate(self._formats):
            chosen = index == self._chosen
            lines.append(f"{'▸' if chosen else ' '} {each.name:<7} {each.description}", style="bold reverse" if chosen else "")
            lines.append("\n" if index + 1 < len(self._formats) else "")
        return lines

    def _default(self) -> str:
        header, form = self._timeline.header, self._formats[self._chosen]
        name = header.id if header else "session"
        return f"{name}{form.suffix or f'-{form.name}'}"

    def action_choose(self, direction: int) -> None:
        """Choose another format; the proposed path, or the suffix of a typed one, changes with it."""
        field = self.query_one(Input)
        untouched = field.value == self._default()
        before = self._formats[self._chosen].suffix
        self._chosen = (self._chosen + direction) % len(self._formats)
        after = self._formats[self._chosen].suffix
        if untouched:
            field.value = self._default()
        elif before and after and field.value.endswith(before):
            field.value = field.value.removesuffix(before) + after
        self.query_one(".formats", Static).update(self._list())
        self.say(_folder())

    def on_input_changed(self) -> None:
        """Remove an error message when the input changes."""
        self._overwrites = None
        self.say(_folder())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Write the export."""
        from ..report.writing import AlreadyThere

        form, typed = self._formats[self._chosen], event.value.strip()
        if not typed:
            return self.say("expected a path", wrong=True)
        path = Path(typed).expanduser()
        try:
            written = form.write(form.of_timeline(self._timeline, path.name), path, force=self._overwrites == (form.name, typed))
        except AlreadyThere:
            self._overwrites = form.name, typed
            self.say("exists already; Enter again overwrites it", wrong=True)
        except (InputError, RuntimeError) as error:  # RuntimeError: a home folder that is not known
            self.say(shorten(safe(str(error)), 2 * _HINT_WIDTH), wrong=True)
        else:
            self.dismiss(f"exported {size(written)} to {safe(str(path))}")


def _folder() -> str:
    """Where a relative path is."""
    try:
        folder = str(Path.cwd())
    except OSError:  # removed meanwhile
        return "the working folder is gone; enter an absolute path"
    return f"in {shorten(safe(folder), _HINT_WIDTH - 3)}"


HINT = "An empty field keeps its value. A changed value begins a new epoch."


class TargetForm(Dialog[bool]):
    """Has one line for each of the target's parameters. Returns whether the target was restarted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", show=False),
        Binding("enter", "submit", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, name: str, params: Mapping[str, Param], restart: Callable[[Mapping[str, str]], str | None]) -> None:
        """`restart` takes changed parameters, and returns why they are refused; None: the target restarts."""
        super().__init__()
        self._name, self._restart = name, restart
        self._params = {key: written(value) for key, value in params.items()}

    def compose(self) -> ComposeResult:
        """One row for each parameter."""
        with self.box(f"Restart {self._name}"):
            with VerticalScroll(classes="fields", can_focus=False):
                for key, value in self._params.items():
                    with Horizontal(classes="field"):
                        yield Static(Text(shorten(safe(key), 18)))
                        yield Input(value, compact=True, name=key)
            yield _hint(HINT if self._params else "The target has no parameters.")
            yield _keys("Tab: next field    Enter: restart    Esc: cancel")

    def on_input_submitted(self) -> None:
        """Enter in any field."""
        self.action_submit()

    def action_submit(self) -> None:
        """Restart with the changed parameters; if one is wrong, show why and keep the form open."""
        why_not = self._restart(self.changes())
        if why_not is None:
            self.dismiss(True)
        else:
            self.say(safe(why_not), wrong=True)

    def changes(self) -> dict[str, str]:
        """The parameters whose text was changed."""
        typed = {str(field.name): field.value.strip() for field in self.query(Input)}
        return {key: value for key, value in typed.items() if value and value != self._params[key]}


def written(value: Param) -> str:
    """A value as it is typed, with `true` and `false` as in TOML."""
    return str(value).lower() if isinstance(value, bool) else str(value)
