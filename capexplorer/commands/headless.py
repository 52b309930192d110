"""Progress of a headless run on stderr: a live table on a terminal, otherwise one line per level."""

from __future__ import annotations

from _queue import Empty, SimpleQueue
from collections.abc import Callable, Sequence
from typing import IO, Protocol

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .. import wording
from ..errors import InputError
from ..model.event_source import EventSource
from ..model.events import Command, Event, LevelClosed, Log, Mark, Target
from ..model.figures import LevelBin
from ..model.intervals import Z95
from ..model.level import Level
from ..model.offered import OfferedFigures
from ..model.timeline import Timeline
from ..report.figures import rate_with_error
from ..run.options import RunOptions
from ..wording.numbers import three_digits
from ..wording.quantities import latency, latency_cell, latency_title, offered_rate, rate
from .assembly import live_run, report_failure
from .error_output import print_line, printable
from .signals import signals_to


def explore_headless(options: RunOptions) -> int:
    """Run until the plan, the autopilot, a signal or a failure ends it. Returns the exit code."""
    with live_run(options) as assembled:
        from ..run.unattended import Unattended

        run, capture = assembled.run, assembled.capture
        if not run.is_driven:
            raise InputError(f"--headless: needs --plan or --autopilot: {options.locustfile} has no shape that would end the run")
        run.session_run.on_path.append(lambda path: click.echo(path, file=capture.stdout))
        assembled.server.stop = lambda: run.outcome.interrupt("SIGTERM")
        with signals_to(run.outcome.interrupt):
            timeline = watch(run, Unattended(run), capture.stderr)
            run.close()
            conclude(run, timeline, capture.stderr)
    if capture.stdout_failure is not None:
        print_line(f"stdout: cannot be written: {capture.stdout_failure}; saved: {run.session_run.path}")
    return report_failure(run)


class RunEnding(Protocol):
    """Whether a run has ended."""

    @property
    def reason(self) -> str | None:
        """Why the run ended; None while it continues."""


def watch(run: EventSource, outcome: RunEnding, stderr: IO[str] | None) -> Timeline:
    """Follow a run until its outcome is known, on the main thread: a native queue waits, so signals are handled at once."""
    console = Console(file=stderr, highlight=False, soft_wrap=True)
    timeline, woken = Timeline(), SimpleQueue[None]()
    run.start(lambda: woken.put(None))
    live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
    with live:  # lines that users print are in the session and must not appear here as well
        while outcome.reason is None:
            _wait(woken)
            events = run.take()
            for event in events:
                timeline.apply(event)
            _print(events, timeline, console)
            if console.is_terminal:
                live.update(progress(timeline), refresh=True)
    return timeline


def conclude(run: EventSource, timeline: Timeline, stderr: IO[str] | None) -> None:
    """Print the verdict after everything is recorded: the last marks are made when a run is closed."""
    console, events = Console(file=stderr, highlight=False, soft_wrap=True), run.take()
    for event in events:
        timeline.apply(event)
    _print(events, timeline, console)
    if timeline.levels:
        for judged in wording.judgements(timeline).values():
            console.print(Text(printable(f"verdict: {judged.sentence}")))


def _wait(woken: SimpleQueue[None]) -> None:
    try:
        woken.get(timeout=0.25)
        while True:
            woken.get_nowait()
    except Empty:
        return


def _print(events: Sequence[Event], timeline: Timeline, console: Console) -> None:
    """Print a line for closed levels, the target's states and findings. The reason for the run's end is printed at the end."""
    for event in events:
        match event:
            case Command(by="autopilot"):
                console.print(Text(wording.command(event)))
            case LevelClosed():
                console.print(Text(level_line(event)))
            case Target(state="starting", reason=str()):
                console.print(Text(printable(wording.target(event))))
            case Target(state="building" | "ready" | "died" | "failed"):
                console.print(Text(f"target {event.state}"))
            case Mark(kind="bottleneck", severity="info"):
                pass  # findings that nothing limits the service: the verdict says it once
            case Mark(state="updated") if not _contradicts(event, timeline):
                pass
            case Mark():
                name = wording.epoch_name(timeline, event.epoch)
                sentence = wording.mark(event, timeline.header)
                console.print(Text(printable(f"{event.severity}: {f'{name}: ' if name else ''}{sentence}")))
            case Log(level="error", source="capexplorer"):
                console.print(Text(printable(event.text)))


def _contradicts(mark: Mark, timeline: Timeline) -> bool:
    """Whether this revision is the opposite of what was printed: the service has recovered after all, or has not."""
    revisions = (each for each in timeline.journal if isinstance(each, Mark) and each.key == mark.key)
    return any(each.revision == mark.revision - 1 and each.kind == mark.kind and each.id != mark.id for each in revisions)


def level_line(closed: LevelClosed) -> str:
    """One level in one line."""
    figures = closed.figures
    if closed.bins and closed.offered_per_s is not None:
        return f"ramp to {offered_rate(closed.offered_per_s)} offered: {_most_finished(closed.bins)} (binned by rate)"
    if closed.bins:
        return f"ramp to {closed.users} users: {_most(closed.bins)} (binned by users)"
    load = (
        f"level {closed.users:>5} users"
        if closed.offered_per_s is None
        else f"level {offered_rate(closed.offered_per_s):>7} offered"
    )
    if closed.void is not None:
        return f"{load}: {wording.VOID[closed.void]}"
    if figures.offered is not None:
        return f"{load}: {_iterations(figures.offered)} in {figures.settled_seconds:.0f} settled seconds"
    if figures.goodput_rps is None:
        known = (wording.warm(figures) if closed.users else None, f"{figures.failures_while_unsettled} failures")
        return ", ".join((f"{load}: did not settle", *filter(None, known)))
    return (
        f"{load}: goodput {_with_error(figures.goodput_rps, figures.goodput_se_rps)}, p95 {latency(figures.latency_ms.p95)},"
        f" {figures.failures} failures in {figures.settled_seconds:.0f} settled seconds"
    )


def _iterations(offered: OfferedFigures) -> str:
    """`finished 198.0 ± 1.2/s, p95 from plan 12.1 ms, 2 failed, 31 dropped (31 held by the target)`."""
    finished, p95 = _with_error(offered.finished_per_s, offered.finished_se_per_s), latency(offered.from_plan_ms.p95)
    why = wording.drops(offered.dropped)
    dropped = f"{offered.dropped.total} dropped" + (f" ({why})" if why else "")
    return f"finished {finished}, p95 from plan {p95}, {offered.failed} failed, {dropped}"


def _with_error(per_s: float, se_per_s: float | None) -> str:
    return rate(per_s) if se_per_s is None else rate_with_error(per_s, Z95 * se_per_s)


def _most_finished(bins: Sequence[LevelBin]) -> str:
    """`at most 45.3/s finished at 60/s offered`: the bin with the most."""
    known = [(each.figures.offered.finished_per_s, each.figures.offered.offered_per_s) for each in bins if each.figures.offered]
    if not known:
        return "nothing measured"
    finished_per_s, offered_per_s = max(known)
    return f"at most {rate(finished_per_s)} finished at {offered_rate(offered_per_s)} offered"


def _most(bins: Sequence[LevelBin]) -> str:
    """`goodput at most 45.3/s at 38 users`: the bin with the greatest goodput."""
    known = [(each.figures.goodput_rps, each.users) for each in bins if each.figures.goodput_rps is not None]
    if not known:
        return "no goodput measured"
    goodput_rps, users = max(known)
    return f"goodput at most {rate(goodput_rps)} at {users:.4g} users"


def progress(timeline: Timeline) -> Table:
    """The state of the run."""
    table, level, last = Table(box=None, padding=(0, 2, 0, 0)), timeline.level, timeline.last
    columns = {
        "time": wording.session_time(timeline.last_s),
        "users": f"{last.users}/{last.wanted}" if last is not None else "",
        **_offered(timeline),
        "phase": _phase(timeline, level),
        "req/s": _latest(timeline, "throughput_rps"),
        latency_title("p95"): _latest(timeline, "p95_ms", latency_cell),
        "failures/s": _latest(timeline, "failures_rps"),
        latency_title("lag p99"): _latest(timeline, "loop_lag_p99_ms", latency_cell),
    }
    for name in columns:
        table.add_column(name, justify="right")
    table.add_row(*columns.values()) if last is not None else table.add_row("starting", *[""] * (len(columns) - 1))
    return table


def _offered(timeline: Timeline) -> dict[str, str]:
    """Further columns of a rate level."""
    if timeline.offered_per_s is None:
        return {}
    return {
        "offered/s": offered_rate(timeline.offered_per_s).removesuffix("/s"),
        "finished/s": _latest(timeline, "finished_per_s"),
        "in flight": _latest(timeline, "in_flight"),
        "dropped/s": _latest(timeline, "dropped_per_s"),
        latency_title("p95 from plan"): _latest(timeline, "from_plan_p95_ms", latency_cell),
    }


def _latest(timeline: Timeline, column: str, shown: Callable[[float], str] = three_digits) -> str:
    values = timeline.columns[column]
    return shown(values[-1]) if values else ""


def _phase(timeline: Timeline, level: Level | None) -> str:
    if level is None:
        return "–"
    seconds = level.figures.settled_seconds
    return f"{timeline.phase} {seconds:.0f} s" if timeline.phase == "settled" else str(timeline.phase)
