"""The help screen: the keys of the screen below it, and what its figures mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ... import wording
from ..keybar import LIKE_LESS, rows
from ..keys import KEYS, Key, ScreenName

CHARTS = (
    (
        "Level",
        "Each change of the number of users, or of the offered rate, begins a level. A level is spawning until all its users "
        "run, then settling for twice the mean wait plus latency (2 to 30 s) and until its users have completed a cycle, then "
        "settled. Its figures come from settled seconds only.",
    ),
    ("Users", "users 40 → 60: 40 users run now, 60 are requested."),
    (
        "Offered rate",
        "Iterations a second, however late replies are (u switches the step's unit). Achieved: those that succeeded; "
        "in flight: those that wait for an idle user or run; dropped: those that were never run to their end.",
    ),
    (
        "Time from plan",
        "From the moment at which an iteration was due to its end, including the wait for an idle user. Service time is the "
        "latency of requests.",
    ),
    ("Not stationary", "The queue grows at this rate: the level's latency depends on how long it lasts."),
    ("Goodput", "Successful requests per second, unless the profile counts other finished work."),
    ("Throughput", "All requests per second, including failed ones."),
    ("p50 p95 p99", "Latency that 50, 95 and 99 of 100 successful requests do not exceed."),
    (
        "ttfb ttft",
        "Of a reply that is a stream, time to first byte, and to first token: until the first event that is not empty. T shows "
        "these latencies, and the two below, in place of that of whole requests (total).",
    ),
    (
        "tpot itl",
        "Time per further token: (end - first) / (tokens - 1), one value a request. Inter-token latency: the time between two "
        "events of a stream, where a slow one is not hidden by a mean.",
    ),
    ("tok/s", "Tokens a second of the streams that ended; where a reply does not count its tokens, an event is one."),
    ("±", wording.CONVENTIONS.removeprefix("± ")),
    ("Grey figure", "Rests on too few requests: fewer than 200 for a p95, fewer than 1,000 for a p99."),
    ("–", "Not measured. It never means zero."),
    (
        "!",
        "A warning: ephemeral ports above 80% or used up within 2 min, a busy core, a late generator timer, other processes "
        "that use much CPU.",
    ),
    (
        "Loop lag",
        "Generator timer delay: how late a 10 ms timer of the load generator fires. Measured latencies may be too high by this.",
    ),
    ("Overhead", "Client overhead: latency that the HTTP client alone adds, measured at the start."),
    (
        "Knee",
        "The number of users at which linear scaling (dotted) meets the capacity line (dashed); its 90% interval is hatched. "
        "It is provisional until a soak at 70% of it, a level 20% beyond it and a return to the first level verify it (v). "
        "A bend is a weaker sign.",
    ),
    (
        "Capacity",
        "At offered rates: where goodput falls below the offered rate (the dotted diagonal), with its 90% interval.",
    ),
    (
        "USL fit",
        "A model of contention (σ) and coherency (κ). Its peak is not the knee. It is grey while the data do not support it.",
    ),
    (
        "Cause",
        "Why requests failed, and where: generator, host, network, target or checks. While a critical cause lies in the "
        "generator, the results do not describe the service.",
    ),
    ("Mark", "A finding with its time: a knee, a cause, a bottleneck or a leak. The journal lists all marks."),
    (
        "▸",
        "Below the status the verdict: one sentence on what the session shows about the service. If it ends with …, f shows "
        "the rest. Before an endpoint: it degrades first.",
    ),
    ("→", "In the capacity curve: levels that would make the verdict more certain. Next to a cause: what to do about it."),
    (
        "Epoch",
        "The target with one set of parameters: a restart with others begins a new epoch. Levels of different epochs are "
        "not mixed.",
    ),
    ("CPU", "In cores: 1.00 is one core fully busy."),
    (
        "others cpu",
        "CPU of processes that are neither the target's nor the load generator's, and the names of those that use most. "
        "Waits: how much CPU the target and the load thread waited for, in cores. "
        "!: they use 0.2 cores or more, and the target waits for 0.1 cores or more and for a quarter of what it uses; others "
        "for which it does not wait have no !, however busy they are.",
    ),
)

PICKER = (
    ("knee", "Users at the knee; –: none found, ?: not looked up yet."),
    ("best/s", "The highest goodput of a settled level, in requests per second."),
    ("time", "The session's duration, as minutes:seconds or hours:minutes:seconds."),
    ("cut", "In the column end: the run was killed; everything recorded until then is kept."),
    ("rec", "In the column end: the session is being recorded."),
)

MEANINGS: Mapping[ScreenName, Sequence[tuple[str, str]]] = {"live": CHARTS, "replay": CHARTS, "picker": PICKER}


class Help(ModalScreen[None]):
    """One page, scrolled with the arrow keys; `/` shows only the lines that contain a typed text."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("q,question_mark,f1,enter", "dismiss(None)", show=False),
        Binding("slash", "find", show=False),
        *LIKE_LESS,
    ]

    def __init__(self, screen: ScreenName, keys: Sequence[Key] = KEYS) -> None:
        super().__init__()
        self._parts: list[tuple[str, Sequence[tuple[str, str]]]] = [("", rows(screen, keys))]
        if screen in ("live", "replay"):
            self._parts.append(("While there is a cursor:", rows("inspect", keys)))
        self._parts.append(("What the figures mean:", MEANINGS[screen]))

    def compose(self) -> ComposeResult:
        """What is searched for, and the page."""
        with VerticalScroll(classes="page") as page:
            page.border_title = Text("Help")
            page.border_subtitle = Text("↑ ↓: scroll    /: find    Esc: close")
            yield Input(placeholder="find", classes="wanted", compact=True)
            yield Static(classes="lines")

    def on_mount(self) -> None:
        """Show all lines."""
        self.query_one(Input).display = False
        self.query_one(VerticalScroll).focus()
        self._show("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the lines that contain what was typed so far."""
        self._show(event.value.strip().casefold())

    def on_input_submitted(self) -> None:
        """Scroll the lines that were found."""
        self.query_one(VerticalScroll).focus()

    def action_find(self) -> None:
        """Begin to type what to find."""
        typed = self.query_one(Input)
        typed.display = True
        typed.focus()

    def action_leave(self) -> None:
        """Show all lines again, or close the help."""
        typed = self.query_one(Input)
        if not typed.display:
            self.dismiss(None)
        typed.value, typed.display = "", False
        self.query_one(VerticalScroll).focus()

    def _show(self, wanted: str) -> None:
        found = [(title, [line for line in lines if wanted in " ".join(line).casefold()]) for title, lines in self._parts]
        tables = [part for title, lines in found if lines for part in (Text(f"\n{title}\n") if title else Text(), table(lines))]
        self.query_one(".lines", Static).update(Group(*tables) if tables else Text("no line contains this", "italic"))


def table(lines: Sequence[tuple[str, str]]) -> Table:
    """A table of words and their meanings, which are wrapped within their column."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=11, style="bold")
    grid.add_column()
    for word, meaning in lines:
        grid.add_row(Text(word), Text(meaning))
    return grid
