"""What was proposed as the next step."""

from __future__ import annotations

from ..proposals import Proposal
from .event import Event


class Proposed(Event, frozen=True, kw_only=True, tag="proposed"):
    """The proposal from this moment on, until the next one. Its seconds count from `t_s`."""

    proposal: Proposal
