"""Proposals as events: one when the next step changes, not one a second."""

from __future__ import annotations

from collections.abc import Callable

from ..model.events import Event, Proposed
from ..model.proposals import Done, GiveUp, GoTo, Hold, Proposal

LATER_S = 1.5
"""A countdown that ends this much earlier or later than announced is published again."""

FIGURES_EVERY_S = 10.0
"""Seconds between two events whose proposals differ only in figures, which change every second."""


class PublishedProposals:
    """`show` each second. `emit` takes events, `now_s` returns seconds of the session. `judge` emits the verdict and the marks as
    of now: called before the end of a search, since a level is judged only at some of its seconds and the search ends at any.
    """

    def __init__(
        self, emit: Callable[[Event], None], now_s: Callable[[], float], judge: Callable[[], None] = lambda: None
    ) -> None:
        self._emit, self._now_s, self._judge = emit, now_s, judge
        self._shown: Proposed | None = None

    def show(self, proposal: Proposal) -> None:
        """Publish the proposal if it is news."""
        now_s = self._now_s()
        if self._shown is None or _is_news(self._shown, proposal, now_s):
            if isinstance(proposal, Done):
                self._judge()
            self._shown = Proposed(t_s=now_s, proposal=proposal)
            self._emit(self._shown)


def _is_news(shown: Proposed, proposal: Proposal, now_s: float) -> bool:
    old, passed_s = shown.proposal, now_s - shown.t_s
    match old, proposal:
        case Hold(), Hold():
            ends_s = proposal.most_s + passed_s
            earliest_s = proposal.least_s + passed_s if proposal.least_s else max(old.least_s, 0.0)
            moved_s = max(abs(ends_s - old.most_s), abs(earliest_s - old.least_s))
            return old.why != proposal.why or (moved_s > LATER_S and proposal.most_s > 0)
        case GoTo(), GoTo():
            if (old.users, old.why, old.opens_new_level) != (proposal.users, proposal.why, proposal.opens_new_level):
                return True
            return passed_s >= FIGURES_EVERY_S and old != proposal
        case (Done(), Done()) | (GiveUp(), GiveUp()):
            return passed_s >= FIGURES_EVERY_S and old != proposal
    return old != proposal
