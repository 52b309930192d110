"""How panes draw: the user's view options and the terminal's abilities, as a value that is passed to panes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from ..configuration import Markers
from ..model.stages import LatencyKind, Stage

if TYPE_CHECKING:
    from ..report.compare.comparison import Curve

LatencyForm = Literal["lines", "heatmap", "levels"]
"""`lines`: percentiles over time; `heatmap`: the distribution over time; `levels`: percentiles by level."""


class Palette(msgspec.Struct, frozen=True):
    """Colours as `#rrggbb`, from the theme."""

    background: str = "#121212"
    text: str = "#e0e0e0"
    muted: str = "#808080"
    faint: str = "#404040"
    """Grid, level boundaries, settling seconds."""
    primary: str = "#4fc3f7"
    """Throughput, p50, the target."""
    secondary: str = "#81c784"
    """Goodput, p95, the host."""
    accent: str = "#ffb74d"
    """p99, the generator, the users staircase."""
    success: str = "#66bb6a"
    warning: str = "#ffca28"
    error: str = "#ef5350"
    markers: Markers = "braille"
    """The characters that charts are drawn with."""
    colours: bool = True
    """Whether there are colours. Without them (NO_COLOR) lines and their legends have letters."""


class DisplayOptions(msgspec.Struct, frozen=True):
    """View options."""

    palette: Palette = Palette()
    window_s: float | None = 300.0
    """Time window of the time charts; None: all."""
    start_s: float | None = None
    """Session time at which that window begins; None: it is the page with the newest second."""
    inspected: int | None = None
    """Column index of the second under the inspection cursor, whose values legends and resources show; None: the newest."""
    log_latency: bool = False
    latency_form: LatencyForm = "lines"
    latency_kind: LatencyKind = "total"
    """The latency that charts and tables show, of a session with streams."""
    baseline: Curve | None = None
    """The curve of another session, drawn behind this one's."""
    large: bool = False
    """Whether the pane is maximised or alone in a tab, so that more detail fits."""


def next_kind(kind: LatencyKind, stages: Sequence[Stage]) -> LatencyKind:
    """The latency after this one, of a session that has these stages."""
    kinds: tuple[LatencyKind, ...] = ("total", *stages)
    return kinds[(kinds.index(kind) + 1) % len(kinds)] if kind in kinds else "total"
