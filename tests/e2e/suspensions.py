"""What a session must show of a suspension (SIGSTOP, ctrl+z): no settled sample includes it. For tests."""

from __future__ import annotations

from capexplorer.model.events import Event, Sample

from .rig import events_of

SUSPENDED_S = 3.0
"""How long runs are suspended: a sample that includes it is longer than any sample that is late on a busy machine."""


def assert_no_settled_sample_includes_a_suspension(events: list[Event], suspensions: int = 1) -> None:
    """`suspensions`: how often the run was suspended for `SUSPENDED_S`."""
    samples = events_of(events, Sample)
    suspended_s = [sample.suspended_s for sample in samples]
    found = [index for index, seconds in enumerate(suspended_s) if (seconds or 0.0) > SUSPENDED_S / 2]
    assert len(found) == suspensions
    assert [suspended_s[index + 1] for index in found] == [0.0] * suspensions, "the next sample is void as well"
    assert not [sample for sample in samples if sample.suspended_s is not None and sample.settled]
    assert max(sample.duration_s for sample in samples if sample.settled) < SUSPENDED_S
