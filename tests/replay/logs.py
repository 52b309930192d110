"""Events of sessions that the tests of replays use, and logs of such events, as the session writer writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from marked import marked
from session.samples import busy_sample
from tui.session_events import SessionMaker, died, header, session

from capexplorer.model.events import (
    Command,
    Ended,
    EndpointTick,
    Event,
    LevelClosed,
    LevelOpened,
    Log,
    Note,
    PartState,
    Proposed,
    Sample,
    Target,
    Unknown,
)
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import LevelFold, RampFold
from capexplorer.model.load import Drops, OfferedTick
from capexplorer.model.proposals import Hold
from capexplorer.model.timeline import Timeline
from capexplorer.session.canonical import canonical
from capexplorer.session.writer import SessionWriter

FIRST_SECOND_WITHOUT_RATE_S = 21.0
"""The end of the first second of the third level of `rate_levels`."""


def two_levels() -> list[Event]:
    """Levels of 10 and of 60 users, 9 s each, with notes and output between them."""
    return [*session([(10, 9), (60, 9)]), Ended(t_s=20.0, reason="ended by the user", levels=2)]


def every_kind_of_event() -> list[Event]:
    """A mark that is retracted, a ramp, a restart of the target, a log line of an earlier time, an event of an unknown type."""
    session_events = SessionMaker(seed=3)
    events: list[Event] = [header(), Log(t_s=0.1, source="stdout", text="before anything"), *session_events.open(20)]
    events += [session_events.tick() for _ in range(9)]
    events.append(marked(t_s=session_events.t_s, key="cause:1", state="open", kind="cause", id="refused", severity="error"))
    events.append(Command(t_s=session_events.t_s, name="step", args={"step": 5}))
    events.append(PartState(t_s=session_events.t_s, name="db", state="read", program="postgres"))
    events.append(Proposed(t_s=session_events.t_s, proposal=Hold(why="measuring", least_s=3.0, most_s=9.0)))
    events += session_events.open(80)
    events += [session_events.tick() for _ in range(12)]
    events.append(marked(t_s=session_events.t_s, key="cause:1", revision=2, state="retracted", kind="cause", id="refused"))
    events.append(Log(t_s=session_events.t_s - 3, source="capexplorer", level="critical", text="the disk is full"))
    events += [died(session_events.t_s), *session_events.close()]
    events.append(Unknown(t_s=session_events.t_s, original_type="new", fields={"x": 1}))
    events += [*_ramp_level(session_events.t_s, 2), Note(t_s=session_events.t_s + 9, text="after the ramp")]
    session_events.t_s += 10
    session_events.level = 2
    events += [
        Target(t_s=session_events.t_s, state="ready", epoch=1),
        LevelOpened(t_s=session_events.t_s, index=3, users=5, spawn_rate=5.0, by="user", epoch=1),
    ]
    session_events.level, session_events.wanted, session_events.level_opened_s = 3, 5, session_events.t_s
    events += [session_events.tick() for _ in range(7)]
    return [*events, Ended(t_s=session_events.t_s, reason="ended by the user", levels=4)]


def _ramp_level(began_s: float, index: int) -> list[Event]:
    """A ramp to 50 users: its opening, 8 s, and its closing with the figures of its bins."""
    opened = LevelOpened(t_s=began_s, index=index, users=50, spawn_rate=5.0, by="plan", ramp=True)
    fold, ramp = LevelFold(), RampFold()
    samples = [_ramp_sample(began_s + 1 + second, index, second) for second in range(8)]
    for sample in samples:
        fold.add(sample)
        ramp.add(sample)
    closed = LevelClosed(
        t_s=began_s + 8.5, index=index, users=50, started_s=began_s, figures=fold.figures(), bins=ramp.bins(with_histogram=True)
    )
    return [opened, *samples, closed]


def _ramp_sample(t_s: float, index: int, second: int) -> Sample:
    """A second of the ramp, with 5 users more than the second before. The full text of a failure is in the fourth."""
    sample = busy_sample(t_s, seed=second, endpoints=2, values=9)
    example = "Connection refused by 127.0.0.1:18080" if second == 3 else None
    failures = tuple(msgspec.structs.replace(each, example=example) for each in sample.failures)
    changes = {"level": index, "users": 5 * second, "phase": "spawning", "settled": False, "failures": failures}
    return msgspec.structs.replace(sample, **changes)


def write_log(path: Path, events: Iterable[Event]) -> Path:
    """Write a log to `path`, as a run does, and return `path`."""
    writer = SessionWriter(path)
    for event in events:
        writer.write(event)
    writer.close()
    return path


def rate_levels() -> list[Event]:
    """Three levels of 10 s: of a constant rate, a ramp of rates, and of users. In the first second of the third, iterations of
    the ramp still end.
    """
    events: list[Event] = [header()]
    timeline = Timeline()
    for index, (offered_per_s, ramp) in enumerate(((20.0, False), (40.0, True), (None, False))):
        users = 3 if offered_per_s is None else 0
        at_s = 10.0 * index
        level = LevelOpened(t_s=at_s, index=index, users=users, spawn_rate=1.0, by="plan", offered_per_s=offered_per_s, ramp=ramp)
        timeline.apply(level)
        events.append(level)
        for second in range(10):
            rate = 20.0 + 4 * second if ramp else offered_per_s
            sample = _rate_sample(at_s + second + 1, index, rate, settled=second > 1 and not ramp)
            timeline.apply(sample)
            events.append(sample)
        closed = timeline.levels[-1].ending(at_s + 10)
        timeline.apply(closed)
        events.append(closed)
    return [*events, Ended(t_s=30.5, reason="ended by the user", levels=3)]


def _rate_sample(t_s: float, level: int, rate: float | None, *, settled: bool) -> Sample:
    """A second in which `rate` iterations were offered; None: users made the load."""
    histogram = LatencyHistogram()
    histogram.record_us([1000.0 * t_s, 2000.0])
    offered = OfferedTick(
        offered_per_s=rate or 0.0, planned=4, started=3, finished=2, failed=1, dropped=Drops(target=1), running=3,
        from_plan=histogram.encode(), from_plan_sum_ms=t_s + 2, p50_ms=2.0, late_p99_ms=0.5 * t_s, late_max_ms=t_s,
    )  # fmt: skip
    return Sample(
        t_s=t_s, duration_s=1.0, level=level, users=9, wanted=9, phase="settled" if settled else "settling", settled=settled,
        endpoints=(EndpointTick(name="/a", requests=3, failures=1, latency=histogram.encode(), latency_sum_ms=t_s + 2),),
        work=2.0, offered=offered if rate is not None or t_s <= FIRST_SECOND_WITHOUT_RATE_S else None,
    )  # fmt: skip


def as_a_live_screen_receives(events: Sequence[Event]) -> list[Event]:
    """Each event rounded and without secrets, as a run passes it to its screen and to its log."""
    return [canonical(event) for event in events]
