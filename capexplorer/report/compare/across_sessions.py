"""Makes a typed comparison of sessions: their curves, and the comparison of each with the first one.

Figures are compared only at equal user counts. A difference counts if it exceeds its noise at 95% (`difference`) and 2%. If one
of the errors is unknown, the noise is unknown and the difference does not count. The overhead of different client classes is
attributed to the clients. The verdict tests many figures, and claims only those that are significant among all of them
(`significance`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import InputError
from .comparison import Comparison, Session
from .environment import conditions, distinction, subject
from .pairing import pair_of
from .session_curves import curve_of, epochs_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compare(sessions: Sequence[Session]) -> Comparison:
    """Compare the other curves with the first one. Raises InputError for fewer than two curves, and for an unknown epoch."""
    split = [(session, epoch) for session in sessions for epoch in epochs_of(session)]
    if len(split) < 2:
        raise InputError("compare: expected two sessions or more, or one with two epochs or more that have settled levels")
    if len(split) > len(LETTERS):
        raise InputError(f"compare: expected at most {len(LETTERS)} sessions and epochs, got {len(split)}")
    found = [curve_of(letter, session, epoch) for letter, (session, epoch) in zip(LETTERS, split, strict=False)]
    runs = [each.run for each in found]
    differing, compared = conditions(runs), subject(runs)
    curves = tuple(replace(each, distinction=distinction((*compared, *differing), at)) for at, each in enumerate(found))
    return Comparison(
        curves=curves,
        pairs=tuple(pair_of(curves[0], after) for after in curves[1:]),
        conditions=differing,
        subject=compared,
    )
