"""One figure twice: by how much it differs, and whether that counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from .estimates import MISSING, Estimate
from .figures import FIGURES

ERRORS = 2.0
"""Combined standard errors that a difference must exceed: about 1 in 20 does by chance."""

LEAST_RATIO = 0.02
"""And the share of the first value: smaller ones are real to statistics only."""

CLIENT_UNDER_LOAD = 4.0
"""Times its floor that a client may cost under load: the floor is of one request at a time. 2.2 times was measured for HttpUser
against FastHttpUser, 20 users on 2 busy cores, before one and the same server."""

Judgement = Literal["beyond", "within", "unknown", "client", "partly_client", "not_measured"]
"""`client`: what the client classes cost by themselves explains it; `partly_client`: it may, under load. Neither counts as the
target's. `unknown`: no standard error on one side or both."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Of `after` to `before`."""

    figure: str
    before: Estimate
    after: Estimate
    judgement: Judgement
    floor_change_ms: float | None = None
    """How much more the client by itself costs; only where client classes differ."""

    @property
    def change(self) -> float | None:
        """In the figure's unit; None when one is not measured."""
        if self.before.value is None or self.after.value is None:
            return None
        return self.after.value - self.before.value

    @property
    def ratio(self) -> float | None:
        """Relative to `before`; None when that is not measured or zero (0 to 0 is no change)."""
        change = self.change
        if change is None:
            return None
        if not self.before.value:
            return 0.0 if change == 0 else None
        return change / abs(self.before.value)

    @property
    def noise(self) -> float | None:
        """What a difference must exceed, in the figure's unit; None: unknown."""
        return _noise(self.before, self.after)

    @property
    def counts(self) -> bool:
        """Beyond noise, and not the client's."""
        return self.judgement == "beyond"

    @property
    def better(self) -> bool | None:
        """Where it counts and the figure has a better side: whether `after` is on it."""
        side = FIGURES[self.figure].better
        return (self.change or 0.0) * side > 0 if self.counts and side else None


def difference(figure: str, before: Estimate | None, after: Estimate | None) -> Difference:
    """None: not measured."""
    ours, theirs = before or MISSING, after or MISSING
    if ours.value is None or theirs.value is None:
        return Difference(figure, ours, theirs, "not_measured")
    change = theirs.value - ours.value
    return Difference(figure, ours, theirs, _judged(change, ours, theirs))


def floor_difference(figure: str, before: Estimate, after: Estimate, floor_change_ms: float | None) -> Difference:
    """A latency under two client classes: what their floors differ by is taken out, and what is left must count by itself.

    Where taking it out CLIENT_UNDER_LOAD times leaves nothing, the client explains it in part at least. Floors that were not
    measured explain nothing and exclude nothing: unknown.
    """
    plain = difference(figure, before, after)
    if not plain.counts:
        return Difference(figure, before, after, plain.judgement, floor_change_ms)
    if floor_change_ms is None:
        return Difference(figure, before, after, "unknown")
    change = plain.change or 0.0

    def is_left(times: float) -> bool:
        left = change - times * floor_change_ms
        return left * change > 0 and _judged(left, before, after) == "beyond"

    judgement: Judgement = "client" if not is_left(1) else "beyond" if is_left(CLIENT_UNDER_LOAD) else "partly_client"
    return Difference(figure, before, after, judgement, floor_change_ms)


def _judged(change: float, before: Estimate, after: Estimate) -> Judgement:
    noise = _noise(before, after)
    if noise is None:
        return "unknown"
    return "beyond" if abs(change) > max(noise, LEAST_RATIO * abs(before.value or 0.0)) else "within"


def _noise(before: Estimate, after: Estimate) -> float | None:
    if before.se is None or after.se is None:
        return None
    return ERRORS * math.hypot(before.se, after.se)
