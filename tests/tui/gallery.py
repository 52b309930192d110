"""Simulated sessions for tests of the chart panes."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from marked import marked

from capexplorer.analysis import capacity_marks
from capexplorer.analysis.capacity_marks import MarkPublisher
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    EndpointTick,
    Event,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Note,
    Phase,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.level import LevelFold, RampFold
from capexplorer.model.readings import GeneratorReading
from capexplorer.model.timeline import Timeline
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.throughput import ThroughputPane

PANES: tuple[type[Pane], ...] = (ThroughputPane, LatencyPane, CurvePane)


class Service:
    """A simulated closed system: `capacity_rps`, a minimum response time, users that think. Deterministic for a seed."""

    def __init__(self, *, capacity_rps: float = 170.0, service_ms: float = 110.0, think_s: float = 0.3, seed: int = 1) -> None:
        self.capacity_rps, self.service_ms, self.think_s = capacity_rps, service_ms, think_s
        self.random = random.Random(seed)

    def tick(self, users: int) -> tuple[float, float]:
        """(req/s, median ms) of one second with `users`."""
        free_rps = users / (self.think_s + self.service_ms / 1000)
        rps = free_rps / (1 + (free_rps / self.capacity_rps) ** 6) ** (1 / 6) if free_rps else 0.0
        response_s = max(users / rps - self.think_s, self.service_ms / 1000) if rps else 0.0
        noisy = max(self.random.gauss(rps, math.sqrt(max(rps, 1)) * 0.5), 0.0)
        return round(noisy), response_s * 1000 * self.random.gauss(1, 0.04)


def session(steps: Sequence[tuple[int, int]], *, failing_from: int = 10_000, epochs: Sequence[int] = ()) -> list[Event]:
    """Events of a session whose levels are (users, seconds); levels of more than `failing_from` users fail some requests.

    At each index of `epochs` the target is restarted with half of its capacity.
    """
    service = Service()
    events: list[Event] = [header()]
    now_s, running, fold = 0.0, 0, LevelFold()
    for index, (users, seconds) in enumerate(steps):
        epoch = sum(1 for first in epochs if index >= first)
        if index in epochs:
            service.capacity_rps /= 2
            events.append(Target(t_s=now_s, state="ready", epoch=epoch))
        events.append(LevelOpened(t_s=now_s, index=index, users=users, spawn_rate=100.0, by="user", epoch=epoch))
        settled_at = now_s + min(4, seconds)
        for _ in range(seconds):
            now_s += 1.0
            step = max(-20, min(20, users - running))
            running += step
            phase: Phase = "spawning" if step else "settling" if now_s <= settled_at else "settled"
            failed = round(service.random.random() * running * 0.4) if users > failing_from else 0
            tick = sample(now_s, index, running, users, phase, *service.tick(running), failed, service.random)
            fold.add(tick)
            events.append(tick)
        if index + 1 < len(steps):
            figures, fold = fold.figures(), LevelFold()
            events.append(LevelClosed(t_s=now_s, index=index, users=users, started_s=now_s - seconds, figures=figures))
    return events


def header() -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="gallery",
        started_at="2025-01-01T00:00:00+00:00",
        client_overhead_ms={"FastHttpUser": ClientOverhead(p50_ms=0.61, p99_ms=1.4)},
        target=TargetFacts(name="mixed", url="http://127.0.0.1:1"),
        host=HostFacts(),
    )


def sample(
    now_s: float, level: int, users: int, wanted: int, phase: Phase, rps: float, p50_ms: float, failed: int, noise: random.Random
) -> Sample:
    done = max(int(rps) - failed, 0)
    spread = 1 + noise.random() * 0.2
    return Sample(
        t_s=now_s,
        duration_s=1.0,
        level=level,
        users=users,
        wanted=wanted,
        phase=phase,
        settled=phase == "settled",
        endpoints=(EndpointTick(name="/io", method="GET", requests=done + failed, failures=failed),),
        work=float(done),
        p50_ms=p50_ms if done else None,
        p95_ms=p50_ms * 1.7 * spread if done else None,
        p99_ms=p50_ms * 2.1 * spread**2 if done else None,
        generator=GeneratorReading(cpu_ratio=0.12, loop_lag_p99_ms=0.8 + noise.random()),
    )


def explored() -> list[Event]:
    """A session that is stepped up into overload and back, with a note and a cause."""
    events = session([(1, 12), (10, 40), (20, 35), (30, 40), (50, 45), (80, 40), (120, 30), (50, 38)], failing_from=100)
    note = Note(t_s=97.0, text="warm now")
    mark = marked(t_s=228.0, key="cause:1", state="open", kind="cause", id="timeout", users=120, severity="error")
    return [*events, note, mark]


def judged(events: Sequence[Event]) -> list[Event]:
    """The events with the verdicts and marks of a run: at each end of a level, and every tenth second while it is open."""
    timeline, publisher = Timeline(), MarkPublisher()
    reported: list[Event] = []
    for event in events:
        reported.append(event)
        timeline.apply(event)
        if isinstance(event, LevelClosed) or (isinstance(event, Sample) and event.settled and event.t_s % 10 == 0):
            for found in _found(timeline, publisher, event.t_s):
                reported.append(found)
                timeline.apply(found)
    return reported


def _found(timeline: Timeline, publisher: MarkPublisher, t_s: float) -> list[Event]:
    epoch = epoch_of(timeline, timeline.levels[-1].opened.epoch)
    verdict = epoch.verdict
    if verdict is None:
        return []
    published = publisher.verdict(verdict)
    marks = [*capacity_marks.of_verdict(verdict), *capacity_marks.recoveries(epoch)]
    return [
        *([published] if published is not None else []),
        *publisher.update(marks, t_s, epoch=0, complete=()),
    ]


CLIMB = ((2, 20), (5, 20), (10, 20), (20, 20), (40, 20), (60, 20), (80, 20), (110, 20), (140, 20))


def ramped() -> list[Event]:
    """A session with one ramp of four minutes."""
    service, fold = Service(), RampFold()
    events: list[Event] = [header()]
    opened = LevelOpened(t_s=0.0, index=0, users=120, spawn_rate=0.5, by="plan", ramp=True)
    events.append(opened)
    for second in range(240):
        users = 1 + second // 2
        tick = sample(second + 1.0, 0, users, users, "settled", *service.tick(users), 0, service.random)
        fold.add(tick)
        events.append(tick)
    figures = Timeline(events).levels[-1].figures
    return [*events, LevelClosed(t_s=240.0, index=0, users=120, started_s=0.0, figures=figures, bins=fold.bins())]


def tabled() -> list[Event]:
    """A table of levels, as `import` makes it: Gunther's SPEC SDM91 set."""
    table = ((1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (216, 1702.2))
    events: list[Event] = [header()]
    for index, (users, rps) in enumerate(table):
        figures = LevelFigures(settled=True, counted=False, throughput_rps=rps, goodput_rps=rps, users_mean=users)
        events.append(LevelOpened(t_s=float(index), index=index, users=users, spawn_rate=1.0, by="plan"))
        events.append(LevelClosed(t_s=index + 1.0, index=index, users=users, started_s=float(index), figures=figures))
    return events


SESSIONS: dict[str, list[Event]] = {}


def sessions() -> dict[str, list[Event]]:
    """All sessions by name; each is made once."""
    if not SESSIONS:
        SESSIONS.update(
            explored=explored(),
            start=session([(1, 9), (10, 3)]),
            restarted=session([(10, 30), (30, 30), (60, 30), (10, 30), (30, 30), (60, 40), (90, 30)], epochs=(3,)),
            calm=[sample(t + 1.0, 0, 5, 5, "settled", 25, 20.0, 0, random.Random(t)) for t in range(50)],
            nothing=[],
            knee=judged(session(CLIMB)),
            thin=judged(session(CLIMB[:2])),
            high=judged(session(((80, 20), (100, 20), (120, 20)))),
            straight=judged(session(CLIMB[:5])),
            bend=judged(session(CLIMB[:6])),
            recovery=judged(session((*CLIMB[:8], (60, 20), (20, 20)), failing_from=100)),
            two=judged(session((*CLIMB, *CLIMB[:7]), epochs=(9,))),
            ramp=judged(ramped()),
            table=judged(tabled()),
        )
    return SESSIONS
