"""Sessions for tests, level by level, as a run writes them: from a table of loads to events, a timeline or a log.

Scenario().level(users=4, rps=90, p99_ms=12).level(users=8, rps=120, failed=3).timeline
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.stages import LimitName, Stage, StageTick
from capexplorer.model.timeline import Timeline
from capexplorer.session.codec import encode, sealed

HEADER = Header(
    t_s=0.0,
    schema=SCHEMA,
    id="20260101-120000-mixed-0a1b",
    started_at="2026-01-01T12:00:00+01:00",
    label="before the fix ✂",
    versions={"capexplorer": "0.1.0", "python": "3.11.7"},
    client_overhead_ms={"FastHttpUser": ClientOverhead(p50_ms=0.4, p99_ms=1.25)},
    profile={"name": "mixed", "users": {"start": 1, "wait_s": {"between": [0.1, 0.5]}}},
    target=TargetFacts(name="mixed", url="http://127.0.0.1:28080", command=("python", "app.py"), params={"threads": 4}),
    host=HostFacts(kernel="6.1.0", cpus=2, port_range=(32768, 60999)),
)


def header(**changes: Any) -> Header:
    """HEADER with other fields. A mapping replaces fields of the target or the host that it names."""
    nested = {name: value for name, value in changes.items() if isinstance(value, Mapping) and name in ("target", "host")}
    whole = {name: msgspec.structs.replace(getattr(HEADER, name), **value) for name, value in nested.items()}
    return msgspec.structs.replace(HEADER, **(changes | whole))


def second(
    t_s: float,
    *,
    rps: int = 10,
    failed: int = 0,
    latency_ms: float = 10.0,
    p99_ms: float | None = None,
    signature: FailureSignature | None = None,
    name: str = "/",
    users: int = 10,
    settled: bool = True,
    tokens: int = 0,
    stages: Mapping[Stage, float] | None = None,
    beyond: Mapping[LimitName, int] | None = None,
    **fields: Any,
) -> Sample:
    """The second that ends at `t_s`, with so many requests to one endpoint, `failed` of them.

    `latency_ms` is their mean; with `p99_ms` they also have a histogram, evenly from half of it. `signature`: of the failures;
    None: they are only counted. `stages`: the greatest value of each stage in ms; replies are then streams, and have so many
    `tokens` together. `beyond`: so many of the successes exceed each limit on a single request, none of them two; None: there are
    no such limits. `fields` are other fields of the Sample, or replace those that follow from the rest.
    """
    succeeded = rps - failed
    usual: dict[str, Any] = {
        "duration_s": 1.0, "level": 0, "users": users, "wanted": users, "settled": settled,
        "phase": "settled" if settled else "settling", "work": float(succeeded),
    }  # fmt: skip
    endpoint: dict[str, Any] = {"latency_sum_ms": latency_ms * succeeded}
    if p99_ms is not None and succeeded:
        histogram, sum_ms = evenly(succeeded, p99_ms)
        endpoint = {"latency": histogram.encode(), "latency_sum_ms": sum_ms}
        names = ("p50_ms", "p95_ms", "p99_ms")
        usual |= dict(zip(names, histogram.percentiles_ms((0.5, 0.95, 0.99)), strict=True)) | {"max_ms": histogram.max_ms}
    if stages and succeeded:
        values = {stage: evenly(succeeded, greatest_ms) for stage, greatest_ms in stages.items()}
        ticks = {stage: StageTick(latency=each.encode(), sum_ms=sum_ms) for stage, (each, sum_ms) in values.items()}
        endpoint |= {"tokens": tokens, "stages": ticks}
    if beyond is not None:
        late = sum(beyond.values())
        usual |= {"work": float(succeeded - late), "work_beyond_limits": float(late)}
        endpoint |= {"within_limits": succeeded - late, **{f"beyond_{name}": count for name, count in beyond.items()}}
    if failed and signature is not None:
        usual["failures"] = (FailureTick(name=name, method="GET", signature=signature, count=failed),)
    usual["endpoints"] = (EndpointTick(name=name, method="GET", requests=rps, failures=failed, **endpoint),)
    return Sample(t_s=t_s, **(usual | fields))


def evenly(count: int, greatest_ms: float) -> tuple[LatencyHistogram, float]:
    """So many values from half of the greatest to it, and their sum."""
    histogram, values_ms = LatencyHistogram(), np.linspace(0.5, 1.0, count) * greatest_ms
    histogram.record_us(values_ms * 1000)
    return histogram, float(values_ms.sum())


class Scenario:
    """The events of a session. Each method adds some at the end and returns the scenario.

    `timeline` is the session so far. A level opens at `t_s`, the time of the latest event, or at the `at_s` that is given.
    """

    def __init__(self, head: Header | None = HEADER, *events: Event, at_s: float = 1.0) -> None:
        self.events: list[Event] = []
        self.timeline = Timeline()
        self.add(*([] if head is None else [head]), *events)
        self.t_s = at_s

    def add(self, *events: Event) -> Self:
        """Any events."""
        for event in events:
            self.timeline.apply(event)
            self.t_s = event.t_s
        self.events += events
        return self

    def ready(self, **fields: Any) -> Self:
        """The target starts and is ready; with an `epoch`, it was restarted."""
        ready: dict[str, Any] = {"t_s": self.t_s, "pid": 7, **fields}
        return self.add(Target(t_s=self.t_s, state="starting", epoch=ready.get("epoch", 0)), Target(state="ready", **ready))

    def open(self, users: int = 0, *, at_s: float | None = None, **fields: Any) -> Self:
        """A level opens: of users, or of `offered_per_s`."""
        usual: dict[str, Any] = {"spawn_rate": 10.0, "by": "plan", "index": len(self.timeline.levels), "users": users}
        return self.add(LevelOpened(t_s=self.t_s if at_s is None else at_s, **(usual | fields)))

    def seconds(self, seconds: int | Sequence[Mapping[str, Any]], **each: Any) -> Self:
        """Seconds of the open level: so many, or one with each of these changes of `each`. They are arguments of `second`."""
        opened = self.timeline.levels[-1].opened
        for changes in [{}] * seconds if isinstance(seconds, int) else seconds:
            given = {"level": opened.index, "users": opened.users, **each, **changes}
            self.add(second(self.t_s + 1.0, **given))
        return self

    def close(self, after_s: float = 0.0) -> Self:
        """The open level closes, with the figures of its seconds."""
        return self.add(self.timeline.levels[-1].ending(self.t_s + after_s))

    def level(
        self,
        users: int = 0,
        seconds: int | Sequence[Mapping[str, Any]] = 12,
        *,
        settling: int = 0,
        is_closed: bool = True,
        **more: Any,
    ) -> Self:
        """A level whose last `seconds` are settled; `settling` is the number of those before. `more`: fields of LevelOpened, and
        arguments of `second`."""
        opening = {
            name: more.pop(name) for name in [*more] if name in (*LevelOpened.__struct_fields__, "at_s") and name != "index"
        }
        self.open(users, **opening).seconds(settling, **{**more, "settled": False}).seconds(seconds, **more)
        return self.close() if is_closed else self

    def measured(
        self,
        users: int = 0,
        figures: LevelFigures | None = None,
        *,
        lasts_s: float = 60.0,
        settled_s: float | None = None,
        **more: Any,
    ) -> Self:
        """A level without seconds, closed with these figures. `more`: fields of LevelOpened, and `endpoints`, `bins`, `void`,
        `settling_s` of LevelClosed."""
        closing = {name: more.pop(name) for name in ("endpoints", "bins", "settling_s", "void") if name in more}
        self.open(users, **more)
        opened = self.timeline.levels[-1].opened
        closed = LevelClosed(
            t_s=opened.t_s + lasts_s, index=opened.index, users=users, offered_per_s=opened.offered_per_s, settled_s=settled_s,
            started_s=opened.t_s, figures=LevelFigures(settled=True) if figures is None else figures, **closing,
        )  # fmt: skip
        return self.add(closed)

    def write(self, path: Path) -> Path:
        """A log of these events."""
        path.write_bytes(b"".join(log_lines(self.events)))
        return path


def log_lines(events: Sequence[Event], first: int = 1) -> list[bytes]:
    """The sealed line of each event, numbered from `first`."""
    return [sealed(encode(event), number) + b"\n" for number, event in enumerate(events, start=first)]
