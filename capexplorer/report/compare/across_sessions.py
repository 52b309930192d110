"""Sessions to a typed comparison: their curves, and the comparison of each with the first one.

Rules: figures are compared at equal user counts, never between them; a difference counts when it is beyond its noise at 95%
(`difference`) and 2%; without both errors its noise is unknown and it never counts; what two client classes cost by themselves is
the client's. A headline looks at many figures at once and claims only those that are sure among all of them (`significance`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from .comparison import Comparison, Session
from .environment import conditions, subject
from .pairing import pair_of
from .session_curves import curve_of, epochs_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compare(sessions: Sequence[Session]) -> Comparison:
    """Compare the other curves with the first one. Raises InputError: fewer than two curves, or an unknown epoch."""
    split = [(session, epoch) for session in sessions for epoch in epochs_of(session)]
    if len(split) < 2:
        raise InputError("compare: expected two sessions or more, or one with two epochs or more that have settled levels")
    if len(split) > len(LETTERS):
        raise InputError(f"compare: expected at most {len(LETTERS)} sessions and epochs, got {len(split)}")
    curves = tuple(curve_of(letter, session, epoch) for letter, (session, epoch) in zip(LETTERS, split, strict=False))
    made = [each.made for each in curves]
    return Comparison(
        curves=curves,
        pairs=tuple(pair_of(curves[0], after) for after in curves[1:]),
        conditions=conditions(made),
        subject=subject(made),
    )
