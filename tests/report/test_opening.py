"""The first lines of a report: the objectives, and the load at which to operate. All of them: `recorded_exports`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import KneeVerdict, RateObjective, SloVerdict, Verification
from capexplorer.report.statements import opening

from .made_sessions import AT_25, judged, judged_epochs, served

CROSSED = SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=14.0, users_low=12.4)
BROKEN = SloVerdict(name="p95_ms", limit=1.0, state="broken", users_high=6.0)
CROSSED_RATE = RateObjective(name="p95_ms", limit=60.0, state="crossed", per_s=33.0, low_per_s=25.0, high_per_s=39.0)


@pytest.mark.parametrize(
    ("events", "operating"),
    [
        (judged(), ["Stay at 18 users or fewer, 100/s: "]),
        (judged(AT_25, CROSSED), ["Stay at 12 users or fewer, 100/s: "]),
        (judged(AT_25, BROKEN), []),
        (judged(replace(AT_25, verification=Verification(state="contradicted", steps=()))), []),
        (judged(KneeVerdict(kind="no_knee", users=48.0)), []),
        (judged(KneeVerdict(kind="bend", users=20.0)), []),
        (judged_epochs(), ["threads=4: stay at 16 users or fewer, 100/s: ", "threads=8: stay at 32 users or fewer, 100/s: "]),
        (served(), ["Stay at 38/s or less. "]),
        (served(CROSSED_RATE), ["Stay at 25/s or less. "]),
    ],
    ids=["knee", "objective", "broken objective", "contradicted", "no knee", "bend", "epochs", "rates", "objective at rates"],
)  # fmt: skip
def test_the_operating_load_is_below_the_knee_and_within_the_objectives(events: list[Event], operating: list[str]) -> None:
    found = [each for each in opening(Timeline(events)) if "tay at" in each]
    assert len(found) == len(operating)
    assert [begin for begin, each in zip(operating, found, strict=True) if not each.startswith(begin)] == []
