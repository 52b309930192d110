"""Sessions for tests of exports, of any length and with any text, the same on each call; and the files of an export."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from marked import marked

from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    Ended,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Note,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import LevelFold, RampFold
from capexplorer.model.readings import GeneratorReading, HostReading, PortsReading, TargetReading, TcpReading
from capexplorer.report.formats import FORMATS

HOSTILE = (
    "</script><script>alert(1)</script> <img src=x onerror=alert(1)> \"q' & | `code` \x1b[31m\x00\x07\x9b \u202egnp.exe \u2028"
    " [x](http://evil.example) @everyone \u05e9\u05dc\u05d5\u05dd"
)
"""Text that must be inert in every export: markup, quotes, ANSI escapes, C0 and C1 control characters, a right-to-left override,
a line separator, a link, a mention, Hebrew.
"""

HEADER = Header(
    t_s=0.0,
    schema=SCHEMA,
    id="20260101-120000-mixed-0001",
    started_at="2026-01-01T12:00:00.000+01:00",
    label="a1b2c3d",
    versions={"capexplorer": "0.1.0", "locust": "2.47.0"},
    client_overhead_ms={"FastHttpUser": ClientOverhead(p50_ms=0.42, p99_ms=1.3)},
    profile={"name": "mixed", "title": "Mixed CPU and I/O", "users": {"wait_s": {"between": [0.1, 0.5]}, "client": "fast"}},
    target=TargetFacts(
        name="mixed",
        url="http://db7.corp.internal:18080",
        command=("/home/ann/venv/bin/python3", "/srv/apps/mixed/serve.py", "--port", "18080"),
        params={"threads": 8},
    ),
    host=HostFacts(name="bench-7", system="Linux", kernel="6.1", cpus=2, memory_bytes=8 << 30, port_range=(32768, 60999)),
)

NAMES = ("/health", "/io", "/cpu", "/tasks/{id}")


def sample(t_s: float, level: int, users: int, *, settled: bool = True, failures: int = 0, name: str = "") -> Sample:
    """The sample of one second; its latencies differ a little from those of other seconds. `name`: its only endpoint."""
    endpoints = []
    for index, endpoint in enumerate((name,) if name else NAMES):
        requests = max(1, users // 2 + index + int(3 * math.sin(t_s + index)))
        histogram = LatencyHistogram()
        histogram.record_us([1_000 * (5 + 20 * index) + 100 * users + 37 * n + int(t_s) for n in range(requests)])
        failed = failures if index == 0 else 0
        endpoints.append(
            EndpointTick(
                name=endpoint,
                requests=requests + failed,
                failures=failed,
                received_bytes=100 * requests,
                latency=histogram.encode(),
                latency_sum_ms=float(requests * (5 + 20 * index)),
                warmup_requests=0 if settled else 2,
            )
        )
    succeeded = sum(tick.requests - tick.failures for tick in endpoints)
    signature = FailureSignature(types=("ConnectionError",), errno=111, text=name or "refused")
    return Sample(
        t_s=t_s,
        duration_s=1.0,
        level=level,
        users=users,
        wanted=users,
        phase="settled" if settled else "settling",
        settled=settled,
        endpoints=tuple(endpoints),
        failures=(FailureTick(name=name or NAMES[0], method="GET", signature=signature, count=failures),) if failures else (),
        work=float(succeeded),
        p50_ms=10.0 + math.sin(t_s),
        p95_ms=50.0 + math.sin(t_s),
        p99_ms=80.0 + math.sin(t_s),
        max_ms=120.0 + math.sin(t_s),
        generator=GeneratorReading(cpu_ratio=0.1 + 0.01 * math.sin(t_s), loop_lag_p99_ms=1.5 + math.sin(t_s)),
        targets=(TargetReading(pid=1, cpu_ratio=0.8 + 0.1 * math.sin(t_s), rss_bytes=50_000_000 + int(t_s) * 1000, fds=40),),
        host=HostReading(cpu_ratio=1.3, memory_used_bytes=2_000_000_000, load_average_1m=1.0, received_bytes_per_s=1e5 + t_s),
        ports=PortsReading(capacity=28_232, used=users, time_wait=users // 2),
        tcp=TcpReading(sockets_in_use=users),
    )


def session(levels: Sequence[int] = (5, 20, 50), seconds: int = 12, *, header: Header = HEADER, text: str = "") -> list[Event]:
    """The events of a complete session: a level for each number of users, a note, a mark and the end.

    A number of users below the one before it begins a new epoch. `text`: the name of all endpoints, and the text of all else.
    """
    return list(_session(levels, seconds, header, text))


def _session(levels: Sequence[int], seconds: int, header: Header, text: str) -> Iterator[Event]:
    yield header
    yield Target(t_s=0.1, state="starting", params={"threads": 8})
    yield Target(t_s=0.5, state="ready", pid=1)
    t_s, epoch = 1.0, 0
    for index, users in enumerate(levels):
        if index and users < levels[index - 1]:
            epoch += 1
            yield Target(t_s=t_s, state="starting", epoch=epoch, params={"threads": 16})
        yield LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=users, by="plan", epoch=epoch)
        began_s, fold = t_s, LevelFold()
        for second in range(seconds):
            t_s += 1.0
            tick = sample(t_s, index, users, settled=second >= 2, failures=int(users >= 50), name=text)
            fold.add(tick)
            yield tick
        endpoints = fold.merged.endpoint_figures(with_histogram=True)
        settled_s = fold.settled_s
        yield LevelClosed(
            t_s=t_s, index=index, users=users, started_s=began_s, settled_s=settled_s, figures=fold.figures(), endpoints=endpoints
        )
    sentence = text or "read /etc/capexplorer/limits.conf on bench-7"
    yield Note(t_s=t_s, text=text or "deployed to db7.corp.internal at 10.1.2.3 from /home/ann/src")
    yield marked(
        t_s=t_s, key="cause/x", state="open", kind="cause", id="ports_exhausted", users=50.0, severity="error", confidence="high",
        evidence={"used_ratio": 0.97, "seen": sentence},
    )  # fmt: skip
    yield Ended(t_s=t_s + 1, reason="plan done", levels=len(levels))


def ramp(seconds: int = 30) -> list[Event]:
    """The events of a session of one ramp, in which each second has one user more; it closes with the figures of its bins."""
    fold, ticks = RampFold(), [sample(1.0 + second, 0, 1 + second) for second in range(seconds)]
    for tick in ticks:
        fold.add(tick)
    whole = LevelFold()
    closed = LevelClosed(
        t_s=1.0 + seconds, index=0, users=1, started_s=0.5, figures=whole.figures(), bins=fold.bins(with_histogram=True)
    )
    opened = LevelOpened(t_s=0.5, index=0, users=1, spawn_rate=1, by="plan", ramp=True)
    return [HEADER, opened, *ticks, closed, Ended(t_s=2.0 + seconds, reason="plan done", levels=1)]


def to_disk(form: str, events: Iterable[Event], path: Path) -> None:
    """Export to a path that does not exist yet."""
    FORMATS[form].write(FORMATS[form].of_log(events, path.name), path, force=False)


def export_files(form: str, events: Iterable[Event], folder: Path) -> dict[str, bytes]:
    """Export to a new folder; all files there by name."""
    folder.mkdir()
    to_disk(form, events, folder / f"out{FORMATS[form].suffix}")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def unfinished_session() -> list[Event]:
    """The events of a session whose last level is still open."""
    return [
        event for event in session() if not isinstance(event, Ended) and not (isinstance(event, LevelClosed) and event.index == 2)
    ]
