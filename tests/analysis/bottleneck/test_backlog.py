"""The backlog of a level: the target's own counts of its work in, a queue that grows or not out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from kit.scenario import HEADER

from analysis.loads import FACTS
from capexplorer.analysis.bottleneck.measured_level import measured_levels
from capexplorer.analysis.bottleneck.queue_rules import Backlog, backlog_of
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import EndpointTick, Event, LevelOpened, Sample
from capexplorer.model.timeline import Timeline

ACCEPTED_PER_S = 100


def backlogs(finished_per_s: Sequence[int], *, rest: int = 0) -> list[Backlog | None]:
    """The backlog of each part of a level of 20 users, which accepts ACCEPTED_PER_S and finishes as much in each second as given.
    `rest`: the backlog before it.
    """
    events: list[Event] = [msgspec.structs.replace(HEADER, host=FACTS)]
    events.append(LevelOpened(t_s=1.0, index=0, users=20, spawn_rate=10.0, by="plan"))
    queued = float(rest)
    for second, finished in enumerate(finished_per_s):
        queued += ACCEPTED_PER_S - finished
        tick = EndpointTick(name="/", requests=finished, latency_sum_ms=10.0 * finished)
        events.append(
            Sample(
                t_s=2.0 + second, duration_s=1.0, level=0, users=20, wanted=20, settled=True, phase="settled", endpoints=(tick,),
                work=float(finished), waits=finished, wait_sum_s=0.19 * finished, app={"queued": queued},
            )
        )  # fmt: skip
    events.append(Timeline(events).levels[-1].ending(2.0 + len(finished_per_s)))
    timeline = Timeline(events)
    ladder = epoch_of(timeline, 0)
    parts = [*measured_levels(ladder), *measured_levels(ladder, unexplained=True)]
    return [backlog_of(timeline, part) for part in sorted(parts, key=lambda part: part.rates.started_s)]


def test_a_queue_that_grows_over_a_whole_level_is_a_backlog() -> None:
    (found,) = backlogs([80, 81] * 8)
    assert found is not None
    assert found.grows


def test_a_part_of_a_level_has_the_backlog_of_its_own_seconds() -> None:
    before, after = backlogs([100, 101] * 5 + [50, 51] * 5, rest=100)
    assert before is not None
    assert not before.grows
    assert after is not None
    assert after.grows
    assert after.seconds == 9
