"""How panes should draw: what the user chose, and what the terminal can show. A value; panes get it, never ask the app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..configuration import Markers

if TYPE_CHECKING:
    from ..report.compare.comparison import Curve

LatencyForm = Literal["lines", "heatmap", "levels"]
"""Percentiles over time, the spread over time, percentiles by level."""


@dataclass(frozen=True, slots=True)
class Palette:
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
    """What charts are drawn with."""
    colours: bool = True
    """Without them (NO_COLOR) lines and their legends have letters."""


@dataclass(frozen=True, slots=True)
class Look:
    """View options."""

    palette: Palette = Palette()
    window_s: float | None = 300.0
    """Time window of the time charts; None: all."""
    start_s: float | None = None
    """Where that window begins; None: it is the page that holds the newest second."""
    inspected: int | None = None
    """Column index of the second under the inspection cursor, whose values legends and resources give; None: the newest."""
    log_latency: bool = False
    latency_form: LatencyForm = "lines"
    baseline: Curve | None = None
    """The curve of another session, drawn behind this one's."""
    large: bool = False
    """The pane is maximised, or stands alone behind a tab: more detail fits."""
