"""What panes and the status show in each of their states, as text. `PYTHONPATH=tests python -m tests.tui.snapshots` writes them.

A case is a name and a function that draws. A state that the screen shows differently on purpose is seen in the diff of its file.
The last line is a digest of the styles, so that a colour does not change unseen.
"""

from __future__ import annotations

import errno
import hashlib
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import kit.stacks
import kit.streams
from analysis.recorded import analysed_again
from kit.stacks import POOL_AND_QUERY
from marked import marked
from msgspec.structs import replace
from textual.geometry import Size
from textual.strip import Strip

from capexplorer.model.events import (
    Command,
    Ended,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    LevelOpened,
    Log,
    Mark,
    Note,
    PartState,
    Target,
    TargetFacts,
    Verdict,
)
from capexplorer.model.findings import Bend, Recovered
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
from capexplorer.model.load import Rate, Users
from capexplorer.model.readings import (
    HostReading,
    NeighboursReading,
    PartReading,
    PortsReading,
    TargetReading,
    TargetTcpReading,
    TcpReading,
    WorkerReading,
    WorkersReading,
)
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import (
    CapacityVerdict,
    EndpointDegradation,
    KneeVerdict,
    Missing,
    Peak,
    Recovery,
    SloVerdict,
)
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.endpoint_charts import EndpointCurve, EndpointLatency, EndpointThroughput
from capexplorer.tui.panes.endpoints import EndpointsPane
from capexplorer.tui.panes.failures import FailuresPane
from capexplorer.tui.panes.inspected import inspected
from capexplorer.tui.panes.journal import JournalPane, LogPane
from capexplorer.tui.panes.kept_requests import RequestPane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.level_page import LevelPage
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.resources import PartsPane, ResourcesPane
from capexplorer.tui.panes.stacks import AroundPane, StacksTable
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.protocols import View, watched

from . import gallery
from .baselines import baseline_of, live_timeline
from .drawn import LARGE, MAXIMISED, SMALL, with_last
from .knee_verdicts import CURVE, KNEE, USL
from .rates import rate_events
from .session_events import SessionMaker, died, header, session
from .troubles import cause, ports_exhausted, troubled

FOLDER = Path(__file__).with_name("expected")

Case = Callable[[], Sequence[Strip]]


def text_of(strips: Iterable[Strip]) -> str:
    """The lines, and a digest of their styles."""
    lines = [strip.simplify() for strip in strips]
    styles = repr([[(segment.text, str(segment.style)) for segment in line] for line in lines])
    digest = hashlib.sha256(styles.encode()).hexdigest()[:12]
    return "\n".join([*(line.text.rstrip() for line in lines), f"styles {digest}", ""])


def cases() -> dict[str, Case]:
    """All cases by the names of their files."""
    found: dict[str, Case] = {}
    for part in (_curves(), _over_time(), _lists(), _resources(), _levels(), _status()):
        for name, case in part:
            assert name not in found, name
            found[name] = case
    return found


def pane(kind: Callable[[], Pane], events: Iterable[Event] | Timeline, size: Size, **options: Any) -> Case:
    """A pane at the newest second of a session, with all of it on its page."""

    def draw() -> Sequence[Strip]:
        timeline = events if isinstance(events, Timeline) else Timeline(events)
        shown = DisplayOptions(**{"window_s": None, "large": size == MAXIMISED, **options})
        return kind().draw(timeline, len(timeline) - 1, shown, size)

    return draw


def later(case: Callable[[], Case]) -> Case:
    """A case whose session takes long to make."""
    return lambda: case()()


@cache
def dying() -> Timeline:
    """The upstream of a service dies in the middle of the third level, with 24 users."""
    return analysed_again("upstream-dies-at-24-users")


def judged(verdict: CapacityVerdict, size: Size = SMALL, objectives: tuple[SloVerdict, ...] = ()) -> Case:
    """The curve of levels of 5, 20 and 60 users with this verdict."""
    levels = gallery.session(((5, 20), (20, 20), (60, 20)))
    return pane(CurvePane, [*levels, Verdict(t_s=60.0, capacity=verdict, slo=objectives)], size)


SIZES = {"small": SMALL, "large": LARGE, "maximised": MAXIMISED}


def _curves() -> Iterator[tuple[str, Case]]:
    sessions = gallery.sessions()
    for name in (
        "explored",
        "restarted",
        "start",
        "knee",
        "thin",
        "high",
        "straight",
        "bend",
        "recovery",
        "two",
        "ramp",
        "table",
    ):
        yield f"curve-{name}", pane(CurvePane, sessions[name], LARGE)
    for at, size in SIZES.items():
        yield f"curve-knee-{at}", judged(CapacityVerdict(knee=KNEE, curve=CURVE), size)
        yield f"curve-rates-{at}", pane(CurvePane, rate_events(), size)
    yield "curve-rates-recovery", pane(CurvePane, rate_events(recovers=True), LARGE)
    yield "curve-of-one-level", pane(CurvePane, [LevelOpened(t_s=0, index=0, users=10, spawn_rate=5, by="user")], SMALL)
    for why in ("few_levels", "no_bend", "poor_fit"):
        unreliable = replace(CURVE, usl=replace(USL, unreliable_why=why))
        yield f"curve-usl-{why}", judged(CapacityVerdict(knee=KNEE, curve=unreliable), MAXIMISED)
    no_knee = KneeVerdict(kind="no_knee", users=60)
    yield "curve-no-knee", judged(CapacityVerdict(knee=no_knee, curve=replace(CURVE, capacity_rps=None, usl=None)))
    below = KneeVerdict(kind="at_or_below", users=5, users_high=6)
    yield "curve-at-or-below", judged(CapacityVerdict(knee=below, curve=CURVE), MAXIMISED)
    peak = replace(KNEE, peak=Peak(users=55, goodput_rps=125.0, shape="retrograde", fall_ratio=0.2))
    latency = KneeVerdict(kind="latency_knee", users=20, confidence="high")
    yield "curve-latency-and-peak", judged(CapacityVerdict(knee=peak, latency_knee=latency, curve=CURVE), MAXIMISED)
    lower = (Missing(kind="lower_levels", count=2, users_below=20.0),)
    yield "curve-too-few-levels", judged(CapacityVerdict(missing=lower, curve=CURVE))
    steps = (
        Missing(kind="soak", seconds=20.0, users_above=33.0, users_below=33.0),
        Missing(kind="beyond", seconds=6.0, users_above=57.0, users_below=57.0),
        Missing(kind="return_to_first", seconds=6.0, users_above=5.0, users_below=5.0),
    )
    yield "curve-advice", judged(CapacityVerdict(knee=KNEE, curve=CURVE, missing=steps))
    yield "curve-advice-maximised", judged(CapacityVerdict(knee=KNEE, curve=CURVE, missing=steps[:1]), MAXIMISED)
    old = (Missing(kind="soak", users_above=30.0, users_below=36.0), Missing(kind="return_to_first", users_below=5.0))
    yield "curve-advice-without-durations", judged(CapacityVerdict(knee=KNEE, curve=CURVE, missing=old))
    slo = SloVerdict(name="p95_ms", limit=300, state="crossed", users=41, users_low=40, users_high=45, goodput_rps=118.0)
    for at, size in (("", MAXIMISED), ("-narrow", Size(37, 8))):
        yield f"curve-of-a-dying-service{at}", later(lambda size=size: pane(CurvePane, dying(), size))  # type: ignore[misc]
    yield "curve-inspected", pane(CurvePane, session(), SMALL, inspected=20)
    both = later(lambda: pane(CurvePane, session([(10, 12), (30, 12)]), MAXIMISED, baseline=baseline_of([(10, 10), (120, 10)])))
    yield "curve-with-a-baseline", both
    yield "curve-objectives", judged(CapacityVerdict(knee=KNEE, curve=CURVE), MAXIMISED, (slo,))


def _over_time() -> Iterator[tuple[str, Case]]:
    sessions = gallery.sessions()
    for name in ("nothing", "start", "explored", "restarted", "knee"):
        yield f"throughput-{name}", pane(ThroughputPane, sessions[name], SMALL)
        yield f"latency-{name}", pane(LatencyPane, sessions[name], SMALL)
    metric = replace(gallery.header(), profile={"work": {"metric": "finished"}})
    yield "throughput-of-a-metric", pane(ThroughputPane, [metric, *sessions["calm"]], SMALL)
    begun = LevelOpened(t_s=0, index=0, users=50, spawn_rate=1, by="user")
    starting = gallery.sample(1.0, 0, 12, 50, "spawning", 3, 20.0, 0, random.Random(1))
    yield "throughput-of-starting-users", pane(ThroughputPane, [begun, starting], SMALL)
    silent = gallery.sample(2.0, 0, 0, 0, "settled", 0, 20.0, 0, random.Random(1))
    yield "latency-without-successes", pane(LatencyPane, [begun, starting, silent], SMALL)
    for at, size in SIZES.items():
        yield f"throughput-rates-{at}", pane(ThroughputPane, rate_events(), size)
        yield f"latency-rates-{at}", pane(LatencyPane, rate_events(), size)
    yield "latency-explored-maximised", pane(LatencyPane, sessions["explored"], MAXIMISED)
    yield "latency-explored-logarithmic", pane(LatencyPane, sessions["explored"], LARGE, log_latency=True)
    for form in ("heatmap", "levels"):
        two = live_timeline([(10, 12), (80, 12)])
        yield f"latency-{form}", pane(LatencyPane, two, LARGE, latency_form=form, inspected=15)
        yield f"latency-{form}-narrow", pane(LatencyPane, two, Size(38, 6), latency_form=form, inspected=6)
    ascii_only = Palette(markers="ascii")
    yield "latency-heatmap-ascii", pane(LatencyPane, two, LARGE, latency_form="heatmap", palette=ascii_only)
    behind = later(lambda: pane(LatencyPane, two, LARGE, latency_form="levels", baseline=baseline_of([(10, 10), (100, 10)])))
    yield "latency-levels-with-a-baseline", behind
    yield "latency-levels-of-a-dying-service", later(lambda: pane(LatencyPane, dying(), LARGE, latency_form="levels"))
    for seconds in (300, 900):
        long = live_timeline([(10, seconds)])
        yield f"latency-heatmap-of-{seconds}-s", pane(LatencyPane, long, Size(118, 10), latency_form="heatmap")
        yield f"endpoint-latency-of-{seconds}-s", pane(partial(EndpointLatency, ("GET", "/io")), long, Size(118, 10))
    for name, kind in (("throughput", ThroughputPane), ("latency", LatencyPane)):
        yield f"{name}-inspected", pane(kind, session(), SMALL, inspected=20)
    for name, marks in marks_over_time().items():
        yield f"throughput-{name}", pane(ThroughputPane, [*gallery.session(((20, 60),)), *marks], MAXIMISED)
    streamed = kit.streams.streams().timeline
    for at, size in SIZES.items():
        yield f"throughput-of-streams-{at}", pane(ThroughputPane, streamed, size)
        yield f"latency-of-streams-{at}", pane(LatencyPane, streamed, size, latency_kind="ttft")
    yield "latency-levels-of-streams", pane(LatencyPane, streamed, LARGE, latency_form="levels", latency_kind="tpot")
    yield "latency-heatmap-not-kept", pane(LatencyPane, session([(10, 8)]), SMALL, latency_form="heatmap")


def revision(t_s: float, number: int, users: float, **changes: object) -> Mark:
    """A revision of the mark of one knee, with other fields changed."""
    evidence = {"users_low": users - 4, "users_high": users + 5, "capacity_rps": 122.0, "limit": "queueing"}
    mark = marked(
        t_s=t_s, key="knee:epoch0", revision=number, state="open" if number == 1 else "updated", kind="knee", id="knee",
        users=users, severity="warning", confidence="medium", evidence=evidence,
    )  # fmt: skip
    return replace(mark, **changes)


def marks_over_time() -> dict[str, list[Event]]:
    """Marks on the charts over time: at the time since which each has had its kind, of a shift at that of the change."""
    kinds = ((10.0, "bend", 18), (20.0, "knee", 16), (50.0, "knee", 15))
    revised: list[Event] = [
        marked(t_s=t_s, key="knee:epoch0", revision=number, state="updated", kind=kind, id=kind, users=users)
        for number, (t_s, kind, users) in enumerate(kinds, 1)
    ]
    bend = marked(t_s=10.0, key="knee:epoch0", state="open", kind="bend", id="bend", users=18)
    shift = marked(
        t_s=25.0, key="shift:level1", state="open", kind="shift", id="goodput_fell", users=20, severity="warning",
        evidence={"at_s": 15.0, "level": 1, "column": "goodput", "before": 50.0, "after": 30.0},
    )  # fmt: skip
    limits: dict[str, list[Event]] = {
        name: [marked(t_s=10.0, key=f"bottleneck:{id_}:epoch0", state="open", kind="bottleneck", id=id_, users=20)]
        for name, id_ in (("waits", "think_time_limited"), ("a-bottleneck", "gil_bound"))
    }
    return {
        "a-bend-that-becomes-a-knee": revised,
        "a-retracted-mark": [bend, replace(bend, t_s=20.0, revision=2, state="retracted")],
        "a-shift": [LevelOpened(t_s=25.0, index=1, users=20, spawn_rate=1, by="shift", since_s=15.0), shift],
        **limits,
    }


def _lists() -> Iterator[tuple[str, Case]]:
    for at, size in (("large", LARGE), ("small", SMALL)):
        yield f"endpoints-settled-{at}", pane(EndpointsPane, session([(50, 20)]), size)
        first = EndpointDegradation(method="GET", name="/health", users=30, column="latency", before=12, after=480)
        degraded = [*session([(50, 20)]), Verdict(t_s=21.0, first_endpoint=first)]
        yield f"endpoints-degraded-{at}", pane(EndpointsPane, degraded, size)
    for width in (38, 58, 78, 118):
        streamed = kit.streams.streams().timeline
        yield f"endpoints-of-streams-{width}", pane(EndpointsPane, streamed, Size(width, 10))
        yield f"endpoints-of-streams-by-tpot-{width}", pane(EndpointsPane, streamed, Size(width, 10), latency_kind="tpot")
    yield "endpoints-settling", pane(EndpointsPane, session([(50, 3)]), LARGE)
    long = (EndpointTick(name="/api/v1/customers/{id}/orders/{id}/lines", method="GET", requests=1),)
    settling = with_last(Timeline(session([(10, 3)])), phase="settling", endpoints=long)
    yield "endpoints-with-a-long-name", pane(EndpointsPane, settling, SMALL)
    histogram = LatencyHistogram()
    histogram.record_us([180_000] * 40)
    ttft = EndpointTick(name="ttft", method="METRIC", requests=40, latency=histogram.encode(), latency_sum_ms=7_200.0)
    tokens = EndpointTick(name="tokens", method="METRIC", requests=40, received_bytes=1_480)
    yield (
        "endpoints-with-metrics",
        pane(EndpointsPane, with_last(Timeline(session([(10, 3)])), phase="settling", metrics=(ttft, tokens)), LARGE),
    )
    of_all_kinds: list[Event] = [
        Target(t_s=0.1, state="starting", params={"threads": 8}),
        Command(t_s=1.0, name="users", args={"users": 10}),
        Command(t_s=3.0, name="note", args={"text": "mine"}),
        Note(t_s=3.0, text="mine"),
        replace(cause("ephemeral_port_exhaustion_time_wait", 4.0, 120), key="k"),
        *(Command(t_s=6 + index / 10, name="users", args={"users": index}) for index in range(10)),
        Note(t_s=8.0, text="word " * 40),
        Command(t_s=9.0, name="users", args={"users": 50}),
        died(70.0),
    ]
    yield "journal", pane(JournalPane, of_all_kinds, LARGE)
    journal = Size(140, 20)
    yield "journal-of-a-knee", pane(JournalPane, [revision(10.0 * n, n, 46.0 + n) for n in range(1, 9)], journal)
    same = [revision(10.0, 1, 47.0), revision(20.0, 2, 47.2, confidence="high")]
    yield "journal-of-equal-revisions", pane(JournalPane, same, journal)
    further = (Missing(kind="higher_levels", count=2, users_above=80.0),)
    bend = Bend(verdict=KneeVerdict(kind="bend", users=40.0), missing=further)
    becomes = [revision(10.0, 1, 40.0, finding=bend), revision(20.0, 2, 47.0), revision(30.0, 3, 45.0)]
    yield "journal-of-a-bend-that-becomes-a-knee", pane(JournalPane, becomes, journal)
    retracted = [revision(10.0, 1, 47.0), revision(20.0, 2, 47.0, state="retracted")]
    yield "journal-of-a-retracted-mark", pane(JournalPane, retracted, journal)
    recoveries = [
        replace(revision(t_s, number, 20.0), key="recovery:level7", finding=Recovered(recovery=found))
        for t_s, number, found in (
            (10.0, 1, Recovery(from_users=80, to_users=20, recovered=False, latency_ratio=1.5)),
            (20.0, 2, Recovery(from_users=80, to_users=20, recovered=True, after_s=9.0)),
        )
    ]
    yield "journal-of-no-recovery", pane(JournalPane, recoveries[:1], journal)
    yield "journal-of-a-recovery-after-all", pane(JournalPane, recoveries, journal)
    yield "log", pane(LogPane, [Log(t_s=5.0, source="stderr", level="error", text="boom\n", repeated=3), *session()], LARGE)
    whole = Size(78, 80)
    for width in (40, 78, 118):
        yield f"failures-{width}", pane(FailuresPane, troubled(), Size(width, 80))
    yield "failures-of-a-session-without-a-mark", pane(FailuresPane, session(), whole)
    yield "failures-none", pane(FailuresPane, [cause("not_saturated", 10.0, 10, kind="bottleneck")], whole)

    def raw() -> Pane:
        shown = FailuresPane()
        shown.toggle_raw(True)
        return shown

    lost = FailureSignature(types=("CatchResponseError",), text="lost_updates")
    tick = FailureTick(name="/a", method="GET", signature=lost, count=3, example="lost_updates: expected 90, read 60")
    yield "failures-raw", pane(raw, with_last(Timeline(session([(80, 10)])), failures=(tick,)), whole)
    yield "failures-raw-none", pane(raw, [], whole)

    brief = RequestBrief(
        number=1, why="first", t_s=1.0, level=1, method="GET", name="/cpu", status=503, response_ms=12.5, error="503: busy",
        kind="503: busy",
    )  # fmt: skip
    body = '{"error":"busy","left":[1,2]}'
    kept = KeptRequest(brief=brief, url="http://h/cpu", received=Body(text=body, size_bytes=len(body)))
    yield "request", pane(partial(RequestPane, kept), [], LARGE)
    sampled = kit.stacks.session(*POOL_AND_QUERY).timeline
    for at, size in SIZES.items():
        yield f"stacks-{at}", pane(StacksTable, sampled, size)
    yield "stacks-of-one-load", pane(StacksTable, kit.stacks.session(POOL_AND_QUERY[1]).timeline, LARGE)
    chosen = StacksTable().function(sampled)
    if chosen is not None:
        yield "stacks-around-a-function", pane(partial(AroundPane, chosen), sampled, LARGE)
    charts = {"throughput": EndpointThroughput, "latency": EndpointLatency, "curve": EndpointCurve}
    for name, kind in charts.items():
        yield f"endpoint-{name}", pane(partial(kind, ("GET", "/cpu")), session(), LARGE, inspected=20)


def _resources() -> Iterator[tuple[str, Case]]:
    newest = Timeline(session())
    for at, size in SIZES.items():
        yield f"resources-{at}", pane(ResourcesPane, newest, size)
    yield "resources-inspected", pane(ResourcesPane, newest, LARGE, inspected=20)
    rows = (
        WorkerReading(name="1", users=10, requests=40, cpu_ratio=0.2, loop_lag_p99_ms=1.0, fds=30, fds_limit=1_024),
        WorkerReading(name="2@box", users=10, requests=38, cpu_ratio=0.95, loop_lag_p99_ms=9.0, is_late=True),
    )
    workers = WorkersReading(count=12, fullest="2@box", late=1, plain=1, cpu_ratio=1.15, rows=rows)
    yield "resources-of-workers", pane(ResourcesPane, with_last(Timeline(session()), workers=workers), Size(118, 40))
    unread = with_last(Timeline(session()), generator=None, host=None, ports=None, tcp=None, targets=())
    refused = FailureSignature(types=("ConnectionRefusedError",), errno=errno.ECONNREFUSED)
    reset = FailureSignature(types=("ConnectionResetError",), errno=errno.ECONNRESET)
    failures = tuple(FailureTick(name="/a", method="GET", signature=each, count=5) for each in (refused, reset))
    for name, tcp, failed in (
        ("of-others", TcpReading(attempt_fails=143, listen_overflows=0, target=TargetTcpReading(segments_sent=900)), ()),
        (
            "of-the-service",
            TcpReading(listen_drops=9, target=TargetTcpReading(listen_drops=3, segments_retransmitted=2)),
            failures,
        ),
        ("that-waits", TcpReading(unsent_bytes=1 << 19, queued_bytes=1 << 19), ()),
    ):
        yield f"resources-tcp-{name}", pane(ResourcesPane, with_last(Timeline(session()), tcp=tcp, failures=failed), LARGE)
    yield "resources-not-measured", pane(ResourcesPane, unread, LARGE)
    for name, waits in (("waited-for", 0.4), ("harmless", 0.01)):
        targets = (TargetReading(pid=7, cpu_ratio=0.3, run_delay_ratio=waits),)
        others = NeighboursReading(cpu_ratio=1.6, processes={"cc1plus": 1.31, "a\x1b[2Jb": 0.24})
        beside = with_last(Timeline(session()), targets=targets, neighbours=others)
        yield f"resources-others-{name}", pane(ResourcesPane, beside, Size(160, 40))
    state = PartState(t_s=1.0, name="db", state="read", place="here: port 5432", program="postgres", pid=17)
    server = {"connections": 95.0, "connections_limit": 100.0, "active": 10.0, "lock_waits": 2.0}
    processes = TargetReading(pid=17, processes=6, cpu_ratio=0.4)
    part = PartReading(name="db", age_s=0.3, target=processes, host=HostReading(), server=server)
    watched_part = with_last(Timeline([*session(), state]), parts=(part,))
    yield "resources-of-a-part", pane(ResourcesPane, watched_part, LARGE)
    yield "parts", pane(PartsPane, watched_part, Size(120, 20))
    programs = {"postgres": {}, "redis-server": {}, "nginx": {}, "mysqld": {}, "mariadbd": {}, "shop": {}, "read": server}
    states = [replace(state, name=name, program="postgres" if own else name) for name, own in programs.items()]
    readings = tuple(replace(part, name=name, server=own) for name, own in programs.items())
    known = with_last(Timeline([*session(), *states]), parts=readings)
    yield "parts-of-known-servers", pane(PartsPane, known, Size(120, 60))
    for width in (38, 78, 118):
        yield f"parts-none-{width}", pane(PartsPane, [], Size(width, 12))


def _levels() -> Iterator[tuple[str, Case]]:
    three = Timeline(session([(10, 12), (80, 12), (30, 12)]))
    for width in (40, 78, 118):
        yield f"level-{width}", pane(LevelPage, three, Size(width, 60), inspected=20)
    streamed = kit.streams.streams().timeline
    for width in (58, 78):
        yield f"level-of-streams-{width}", pane(LevelPage, streamed, Size(width, 60), inspected=30, latency_kind="ttft")
        by_itl = DisplayOptions(inspected=30, latency_kind="itl")
        yield f"inspected-streams-{width}", partial(inspected, streamed, len(streamed) - 1, by_itl, width)
    yield "level-of-few-values", pane(LevelPage, session([(1, 12)]), Size(78, 60), inspected=10)
    yield "level-of-a-ramp", pane(LevelPage, gallery.ramped(), Size(78, 60), inspected=200)
    maker = SessionMaker()
    unsettled = [header(), *maker.open(10), maker.tick(), maker.tick(), Note(t_s=3.0, text="so far")]
    yield "level-unsettled", pane(LevelPage, unsettled, Size(78, 60), inspected=1)
    for t_s in (20, 40, 58):
        at = later(lambda t_s=t_s: pane(LevelPage, dying(), Size(78, 40), inspected=dying().index_at(t_s)))  # type: ignore[misc]
        yield f"level-of-a-dying-service-at-{t_s}-s", at
    recovered = Mark(
        t_s=6.0, key="recovery:level0", state="open", users=10,
        finding=Recovered(recovery=Recovery(from_users=80, to_users=10, recovered=True, after_s=1.0)),
    )  # fmt: skip
    newer = replace(recovered, t_s=9.0, state="updated", revision=2)
    failing = Timeline([*session([(10, 8), (80, 8)]), recovered, newer])
    for tick in (3, 8, 12, 14):
        yield f"inspected-second-{tick}", partial(inspected, failing, 15, DisplayOptions(inspected=tick), 198)
    for name, events in (("users", session()), ("rates", rate_events())):
        timeline = Timeline(events)
        tick = len(timeline) - 1
        for width in (78, 118, 200):
            yield f"inspected-{name}-{width}", partial(inspected, timeline, tick, DisplayOptions(inspected=tick), width)


def shown(events: Iterable[Event] | Timeline, view: View | None = None, width: int = 78) -> Case:
    """The status at the newest second of a session."""

    def draw() -> Sequence[Strip]:
        timeline = events if isinstance(events, Timeline) else Timeline(events)
        return status(timeline, view or View(load=Users(timeline.wanted), max_users=2_000), Palette(), width)

    return draw


def _status() -> Iterator[tuple[str, Case]]:
    for width in (40, 78, 118):
        yield f"status-{width}", shown(session([(50, 20)]), width=width)
        paused = View(load=Users(1_900), max_users=2_000, step=500, paused=True, spawn_rate=12.5)
        yield f"status-paused-{width}", shown(session(), paused, width)
        yield f"status-troubled-{width}", shown(troubled(), width=width)
    for seconds in (1, 3, 9):
        yield f"status-after-{seconds}-seconds", shown(session([(50, seconds)]))
    warm = with_last(Timeline(session([(50, 3)])), warm_users=20)
    yield "status-warm-users", shown(warm)
    closed = Timeline(session([(50, 9)]))
    closed.apply(closed.levels[-1].ending(9.5))
    yield "status-closed-level", shown(closed)
    ramps = {False: "rate", True: "ramp"}
    for ramp, name in ramps.items():
        opened = {"users": 0, "offered_per_s": 40.0, "ramp": ramp}
        begun = [replace(each, **opened) if isinstance(each, LevelOpened) else each for each in session([(670, 1)])]
        yield f"status-begin-of-a-{name}", shown(begun)
    facts = replace(header(), target=TargetFacts(name="shop", url="http://127.0.0.1:80"))
    yield "status-starting", shown([facts])
    yield "status-ready", shown([facts, Target(t_s=0.1, state="ready")])
    failed = Target(t_s=0.1, state="failed", reason="cannot reach 127.0.0.1:18080: connection refused")
    yield "status-not-reached", shown([header(), failed])
    yield "status-died", shown([*session(), died(70.0)])
    two_clients = Timeline(session([(50, 20)]))
    assert two_clients.header is not None
    two_clients.header = replace(two_clients.header, clients=("FastHttpUser", "User"))
    yield "status-clients", shown(two_clients, width=140)
    finished = Command(t_s=9.0, name="plan", by="plan", args={"on": False, "what": "plan", "why": "finished", "users": 50})
    yield "status-plan-ended", shown([*session([(50, 9)]), finished])
    yield "status-after-a-command", shown([*session([(50, 9)]), finished, Command(t_s=9.5, name="autopilot", args={})])
    reason = "autopilot finished: knee 40 [33–50] at 39.6/s, verified"
    yield "status-ended", shown([*session(), Ended(t_s=70.0, reason=reason)])
    step = Command(t_s=5.0, name="users", by="autopilot", args={"users": 58, "before": 48, "why": "double", "efficiency": 0.97})
    for width in (40, 60, 118):
        yield f"status-autopilot-{width}", shown([*session([(50, 9)]), step], View(load=Users(58), autopilot=True), width)
    timeline = Timeline(session())
    assert timeline.last is not None and timeline.last.generator is not None
    late = replace(timeline.last.generator, loop_lag_p99_ms=12.0)
    ports = PortsReading(capacity=2_000, used=600, exhausted_in_s=101.0)
    yield "status-late-and-ports", shown(with_last(timeline, generator=late, ports=ports))
    knees = {
        "knee": KNEE,
        "certain": replace(KNEE, provisional=False),
        "no-knee": KneeVerdict(kind="no_knee", users=60),
        "bend": KneeVerdict(kind="bend", users=80, users_low=60),
        "at-or-below": KneeVerdict(kind="at_or_below", users=5, users_high=5),
        "generator": replace(KNEE, limit="generator"),
        "none": None,
    }
    for name, knee in knees.items():
        two = [*gallery.session(((5, 20), (60, 20))), Verdict(t_s=40.0, capacity=CapacityVerdict(knee=knee, curve=CURVE))]
        for width in (78, 118):
            yield f"status-knee-{name}-{width}", shown(two, View(load=Users(60), max_users=2_000), width)
    answer = View(load=Users(60), max_users=2_000, message="saved: sessions/20260101-120000-mixed.md")
    yield "status-answer", shown(two, answer)
    restarted = LevelOpened(t_s=50.0, index=2, users=5, spawn_rate=5, by="user", epoch=1)
    known = Verdict(t_s=40.0, capacity=CapacityVerdict(knee=KNEE, curve=CURVE))
    yield "status-next-epoch", shown([*gallery.session(((5, 20), (60, 20))), known, restarted], View(load=Users(5)))
    offered = View(load=Rate(150.0), max_users=500, step=10, unit="rate")
    for width in (79, 119):
        yield f"status-rates-{width}", shown(rate_events(), offered, width)
    yield "status-rates-watched", shown(rate_events(), watched(Timeline(rate_events())), 119)
    yield "status-rate-requested", shown(rate_events(), View(load=Rate(200.0), max_users=500, unit="rate"), 119)
    exhausted = with_last(Timeline([*session(), ports_exhausted()]), ports=PortsReading(capacity=2_000, used=1_990))
    yield "status-ports-exhausted", shown(exhausted, width=118)
    for name, ports in PORTS.items():
        past = [ports_exhausted(state="closed")] if name == "after" else []
        yield f"status-ports-{name}", with_resources(with_last(Timeline([*session(), *past]), ports=ports))


PORTS = {
    "slow": PortsReading(capacity=2_000, used=600, burn_rate_per_s=2.0, exhausted_in_s=700.0),
    "soon": PortsReading(capacity=2_000, used=600, burn_rate_per_s=33.0, exhausted_in_s=42.4),
    "many": PortsReading(capacity=2_000, used=1_700),
    "all": PortsReading(capacity=2_000, used=2_000),
    "all-to-one": PortsReading(capacity=2_000, used=2_000, destination="127.0.0.1:80"),
    "after": PortsReading(capacity=2_000, used=100),
}


def with_resources(timeline: Timeline) -> Case:
    """The status, and the resources below."""
    return lambda: [*shown(timeline, width=118)(), *pane(ResourcesPane, timeline, LARGE)()]


def main() -> int:
    """Write all files anew."""
    FOLDER.mkdir(exist_ok=True)
    drawn = {f"{name}.txt": text_of(case()) for name, case in cases().items()}
    for path in FOLDER.glob("*.txt"):
        if path.name not in drawn:
            path.unlink()
    for name, text in drawn.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
