"""Simulated sessions for tests of the chart panes; `python -m tests.tui.gallery FOLDER` draws pictures of the panes with them."""

from __future__ import annotations

import asyncio
import html
import math
import random
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from marked import marked
from msgspec.structs import replace
from textual.app import App, ComposeResult

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
from capexplorer.model.level import RampFold
from capexplorer.model.readings import GeneratorReading
from capexplorer.model.timeline import Timeline
from capexplorer.tui.base_app import OURS, palette_of
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.throughput import ThroughputPane

PANES: tuple[type[Pane], ...] = (ThroughputPane, LatencyPane, CurvePane)
SIZES = ((60, 13), (80, 20), (120, 38))
THEMES = ("capexplorer-dark", "capexplorer-light", "textual-dark", "textual-light")


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
    now_s, running = 0.0, 0
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
            events.append(sample(now_s, index, running, users, phase, *service.tick(running), failed, service.random))
        if index + 1 < len(steps):
            figures = Timeline(events).levels[-1].figures
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
    """The events with the verdicts and marks of a run: at each end of a level, and every third second while it is open."""
    timeline, publisher = Timeline(), MarkPublisher()
    reported: list[Event] = []
    for event in events:
        reported.append(event)
        timeline.apply(event)
        if isinstance(event, LevelClosed) or (isinstance(event, Sample) and event.settled and event.t_s % 3 == 0):
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
        *publisher.update(marks, t_s, complete_for=("knee", "latency_knee", "recovery")),
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


class Gallery(App[None]):
    """One pane over the whole screen."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Pane { height: 1fr; }"

    def __init__(self, pane: Pane, events: Iterable[Event], options: DisplayOptions, theme_name: str) -> None:
        super().__init__()
        self.pane, self.events, self.options, self.theme_name = pane, events, options, theme_name

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        for theme in OURS:
            self.register_theme(theme)
        self.theme = self.theme_name
        timeline, options = Timeline(self.events), replace(self.options, palette=palette_of(self.current_theme))
        self.call_after_refresh(lambda: self.pane.show(timeline, len(timeline) - 1, options))


async def picture(folder: Path, pane: type[Pane], name: str, options: DisplayOptions, size: tuple[int, int], theme: str) -> None:
    options = replace(options, large=size[0] >= 120)
    app = Gallery(pane(), sessions()[name], options, theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        window = "all" if options.window_s is None else f"{options.window_s:.0f}s"
        log = "-log" if options.log_latency else ""
        file = folder / f"{pane.__name__}-{name}-{window}{log}-{size[0]}x{size[1]}-{theme}.svg"
        file.write_text(cell_by_cell(app.export_screenshot()), encoding="utf-8")


def cell_by_cell(svg: str) -> str:
    """The picture with each character placed by itself, and braille as dots: converters ignore `textLength`, and few fonts
    have braille of the right width."""

    def place(match: re.Match[str]) -> str:
        head, x, y, text = match["head"], float(match["x"]), float(match["y"]), html.unescape(match["text"])
        step = float(match["length"]) / max(len(text), 1)
        return "".join(_cell(head, x + index * step, y, character, step) for index, character in enumerate(text))

    where = r'x="(?P<x>[^"]*)" y="(?P<y>[^"]*)" textLength="(?P<length>[^"]*)"'
    return re.sub(rf'<text (?P<head>class="[^"]*") {where}[^>]*>(?P<text>[^<]*)</text>', place, svg)


def _cell(head: str, x: float, y: float, character: str, width: float) -> str:
    mask = ord(character) - 0x2800
    if not 0 <= mask < 256:
        return f'<text {head} x="{x:.1f}" y="{y:.1f}">{html.escape(character)}</text>' if character.strip() else ""
    bits = {1: (0, 0), 2: (0, 1), 4: (0, 2), 64: (0, 3), 8: (1, 0), 16: (1, 1), 32: (1, 2), 128: (1, 3)}
    dots = [(x + width * (0.25 + 0.5 * side), y - 15.5 + 6.1 * row) for bit, (side, row) in bits.items() if mask & bit]
    return "".join(f'<circle {head} cx="{across:.1f}" cy="{down:.1f}" r="2"/>' for across, down in dots)


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        for theme in THEMES:
            for pane in PANES:
                await picture(folder, pane, "explored", DisplayOptions(window_s=300.0), size, theme)
    await picture(folder, LatencyPane, "explored", DisplayOptions(window_s=300.0, log_latency=True), (80, 20), THEMES[0])
    await picture(folder, ThroughputPane, "explored", DisplayOptions(window_s=60.0), (60, 13), THEMES[0])
    await picture(folder, LatencyPane, "explored", DisplayOptions(window_s=60.0), (80, 20), THEMES[0])
    for name in ("start", "restarted", "calm", "nothing"):
        for pane in PANES:
            await picture(folder, pane, name, DisplayOptions(window_s=None), (60, 13), THEMES[0])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
