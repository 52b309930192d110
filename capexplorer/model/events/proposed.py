"""The proposal of a next step, as an event."""

from __future__ import annotations

from ..proposals import Proposal
from .event import Event


class Proposed(Event, frozen=True, kw_only=True, tag="proposed"):
    """The proposal that is valid from `t_s` until the next one. Its durations count from `t_s`."""

    proposal: Proposal
