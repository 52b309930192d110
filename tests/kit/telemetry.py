"""A session of a service of eight connections whose own log and metrics are known: it bends at eight users."""

from __future__ import annotations

from collections.abc import Sequence

from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.events import Ended, Event, Log
from capexplorer.model.readings import PartReading
from capexplorer.model.telemetry import TelemetryChanges
from capexplorer.model.timeline import Timeline

from .scenario import Scenario

USERS = (1, 2, 4, 6, 12, 16, 24, 5, 10, 1)
"""Users of the levels; eight have a connection each, and use it for 0.1 s."""
CONNECTIONS = 8

TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/app/db.py", line 41, in acquire',
    "    raise TimeoutError(waited_s)",
    "TimeoutError: no connection of 8 within 0.5 s",
)


def telling_session(users: Sequence[int] = USERS) -> Scenario:
    """Metrics of its own, of a part `app`, and lines of its log, beside some that have nothing to do with the load."""
    scenario, total, timeouts = Scenario().ready(), 0.0, 0.0
    for number, count in enumerate(users):
        served, waiting = 10 * min(count, CONNECTIONS), max(0, count - CONNECTIONS)
        scenario.open(count)
        for second in range(9):
            at_s, wobble = scenario.t_s + 1.0, (second * 7 + number * 3) % 5
            total, timeouts = total + served, timeouts + waiting
            texts = [f"request {number}{second} took {wobble} ms"]
            if waiting:
                texts += [*TRACEBACK, f"slot {second + 1} was late"]
            for text in texts:
                scenario.add(Log(t_s=at_s, source="target", text=text))
            scenario.t_s = at_s - 1.0
            figures = {"pool_waiting": float(waiting), "requests_per_s": float(served + wobble), "mood": 50.0 + wobble}
            figures |= {"wait_seconds_mean": 0.01 + 0.02 * waiting + 0.001 * wobble, "limit": 8.0, "users": float(count)}
            own = {
                "pool.waiting": float(waiting + wobble / 10),
                "requests_total": total,
                "pool.timeouts": timeouts,
                "threads": 4.0,
            }
            part = PartReading(name="app", age_s=0.0, server=figures)
            scenario.seconds(1, rps=served, latency_ms=1000.0 * count / served, settled=second > 1, app=own, parts=(part,))
        scenario.close()
    return scenario


def judged(events: Sequence[Event]) -> Timeline:
    """The session with the findings of the detectors."""
    whole = [*events, Ended(t_s=events[-1].t_s, reason="quit")]
    return Timeline(reanalysed_events(whole, reanalyse_events(whole), "0"))


def changes_of(timeline: Timeline) -> TelemetryChanges:
    """What is known of its only epoch."""
    return timeline.telemetry[0].changes
