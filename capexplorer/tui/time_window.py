"""The part of the session's time that charts show: its length and its start. Zoom and pan are pure arithmetic.

A window with the newest second has no start of its own: its page follows the session (`render.axis.page`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .render.axis import page

WINDOWS_S = (60.0, 300.0, 900.0, None)
"""Lengths in seconds that the key w steps through; None: all."""

ZOOMS_S = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 43_200.0)
"""Lengths in seconds that zooming steps through; the next longer one is all."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """One window. `length_s`: None is the whole session."""

    length_s: float | None = 300.0
    start_s: float | None = None
    """None: the page with the newest second."""

    def cycled(self) -> TimeWindow:
        """The window with the next length of WINDOWS_S."""
        longer = (each for each in WINDOWS_S if self.length_s is not None and (each is None or each > self.length_s))
        return TimeWindow(next(longer, WINDOWS_S[0]))

    def span(self, now_s: float) -> tuple[float, float]:
        """(start, end) in seconds of the session."""
        if self.start_s is None or self.length_s is None:
            return page(now_s, self.length_s)
        return self.start_s, self.start_s + self.length_s

    def zoomed(self, direction: int, now_s: float, around_s: float | None) -> TimeWindow | None:
        """The window with the next shorter (1) or longer (-1) length; None if there is none. `around_s`, the time at the
        inspection cursor, keeps its relative position.
        """
        low_s, high_s = self.span(now_s)
        length_s = self.length_s if self.length_s is not None else max(now_s, ZOOMS_S[0])
        if direction > 0:
            shorter = [each for each in ZOOMS_S if each < length_s]
            found = shorter[-1] if shorter else None
            if found is None:
                return None
        elif self.length_s is None:
            return None
        else:
            found = next((each for each in ZOOMS_S if length_s < each < now_s), None)
        if around_s is None or found is None:
            return TimeWindow(found)
        share = min(max((around_s - low_s) / (high_s - low_s), 0.0), 1.0)
        return TimeWindow(found, max(0.0, float(round(around_s - share * found))))._following(now_s, around_s)

    def showing(self, t_s: float, now_s: float) -> TimeWindow:
        """The window panned by halves of its length so that it includes `t_s`."""
        low_s, high_s = self.span(now_s)
        if self.length_s is None or low_s <= t_s <= high_s:
            return self._following(now_s, t_s)
        if page(now_s, self.length_s)[0] <= t_s:
            return TimeWindow(self.length_s)
        half_s = self.length_s / 2
        start_s = t_s // half_s * half_s - (half_s if t_s > high_s else 0.0)
        return replace(self, start_s=max(start_s, 0.0))

    def _following(self, now_s: float, t_s: float) -> TimeWindow:
        """The window without a start of its own if it includes the newest second and the newest page includes `t_s`; else
        unchanged.
        """
        if self.start_s is None or self.length_s is None or self.start_s + self.length_s < now_s:
            return self
        return replace(self, start_s=None) if page(now_s, self.length_s)[0] <= t_s else self
