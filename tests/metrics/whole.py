"""A session in which every metric of the table has a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.scenario import Scenario

from capexplorer.metrics.following import FollowedSession, Stop
from capexplorer.model.events import Answered, Ended, EndpointTick, FailureSignature, FailureTick, Mark, Sample, Verdict
from capexplorer.model.findings import Cause
from capexplorer.model.load import Drops, OfferedTick
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading
from capexplorer.model.requirements import CapacityAnswer, CapacityRequired
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, RateCapacity, RateVerdict
from capexplorer.session.reader import open_session

REFUSED = FailureSignature(types=("ConnectionError", "ConnectionRefusedError"), errno=111, text="Connection refused")
READINGS: dict[str, Any] = {
    "generator": GeneratorReading(cpu_ratio=0.2, loop_lag_p99_ms=3.0, rss_bytes=90_000_000),
    "targets": (TargetReading(pid=7, cpu_ratio=0.9, rss_bytes=40_000_000),),
    "host": HostReading(cpu_ratio=1.4),
    "neighbours": NeighboursReading(cpu_ratio=0.1),
    "ports": PortsReading(used=120, capacity=28_232),
}
OFFERED = OfferedTick(offered_per_s=80.0, planned=80, finished=70, failed=5, dropped=Drops(target=5), running=3)
KNEE = KneeVerdict(
    kind="knee", users=8.0, users_low=7.0, users_high=9.5, capacity_rps=120.0, confidence="medium", provisional=False
)  # fmt: skip
CAPACITY = RateCapacity(kind="capacity", per_s=100.0, low_per_s=95.0, high_per_s=104.0, confidence="high")


def whole() -> Scenario:
    session = Scenario().ready()
    session.level(users=4, rps=90, p99_ms=12.0, settling=2, tokens=900, stages={"ttft": 6.0, "tpot": 0.5})
    session.level(users=8, rps=120, failed=3, p99_ms=20.0, signature=REFUSED)
    session.level(offered_per_s=80.0, seconds=[{"offered": OFFERED}] * 4, rps=80, p99_ms=15.0, is_closed=False, **READINGS)
    session.add(
        Verdict(
            t_s=session.t_s, capacity=CapacityVerdict(knee=KNEE), rates=RateVerdict(capacity=CAPACITY), disturbed_levels=(2,)
        ),
        Answered(t_s=session.t_s, answers=(CapacityAnswer(required=CapacityRequired(90.0), state="met"),)),
        Mark(t_s=session.t_s, key="cause:refused", state="open", finding=Cause(name="connection_refused", count=36)),
    )
    return session


def many_names(count: int) -> Scenario:
    """A second with so many endpoints, each with a failure for a reason of its own."""
    signatures = [FailureSignature(types=(f"Error{number}",)) for number in range(count)]
    second = Sample(
        t_s=2.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled",
        endpoints=tuple(EndpointTick(name=f"/{number}", requests=2, failures=1) for number in range(count)),
        failures=tuple(FailureTick(name=f"/{n}", method="GET", signature=each, count=1) for n, each in enumerate(signatures)),
    )  # fmt: skip
    return Scenario().open(users=1).add(second)


def followed(session: Scenario, folder: Path) -> FollowedSession:
    """The session, followed to the end of its log."""
    with open_session(session.add(Ended(t_s=session.t_s, reason="quit")).write(folder / "whole.jsonl")) as log:
        found = FollowedSession(log)
        found.follow(Stop(), lambda: None)
    return found
