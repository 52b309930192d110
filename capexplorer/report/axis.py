"""Round ticks for the axes of a picture."""

from __future__ import annotations

import math

from ..wording.quantities import latency_below_title


def ticks(top: float, most: int) -> list[float]:
    """0 and round steps (1, 2, 5 times a power of ten) up to the first at or above `top`, at most `most` intervals."""
    if top <= 0 or not math.isfinite(top):
        return [0.0, 1.0]
    raw = top / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw * (1 - 1e-9))
    count = math.ceil(top / step - 1e-9)
    return [round(index * step, 12) for index in range(count + 1)]


def label(value: float) -> str:
    """A tick's text: 0, 0.5, 20, 1,500."""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def latency_label(value_ms: float) -> str:
    """The text of a tick of latency: as `label`, in the chosen unit; with it if the axis has no unit of its own."""
    return latency_below_title(value_ms, label)
