"""What `run` does: on the live screen, without one, or in the background."""

from __future__ import annotations

import math
import os
import signal
import sys
from _queue import Empty, SimpleQueue
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ... import namespace, wording
from ...analysis.sampling_cost import sampling_cost
from ...errors import InputError
from ...model.events import Answered, Command, Event, Explained, LevelClosed, Log, Mark, Target
from ...model.figures import LevelBin, LevelFigures
from ...model.intervals import Z95
from ...model.level import Level
from ...model.limits import LEAST_GENERATOR_OPEN_FILES
from ...model.load import OfferedFigures, Rate, Users
from ...model.requirements import Requirement, State
from ...model.stages import TABLED
from ...model.timeline import Timeline
from ...remote import run_sockets
from ...run.options import RunOptions
from ...steer.plan import Step
from ...wording import stacks
from ...wording.numbers import counted, three_digits
from ...wording.quantities import (
    beyond_limits,
    goodput_name,
    latency,
    latency_cell,
    latency_title,
    offered_rate,
    rate,
    rate_with_error,
)
from ...wording.requirements import STATES
from ..afterwards import run_goes_on
from ..terminal import DUMB, print_line, printable, require_screen, signals_to
from .arguments import RunArguments
from .assembly import AssembledRun, live_run, report_failure
from .on_screen import HANG_UP, release_input

if TYPE_CHECKING:
    from ...run.screens import Unattended
    from ...run.session_run import LiveRun
    from ...run.sweep import SweepDriver

# -- headless ------------------------------------------------------------------------------------------------------------------
# Progress of a headless run on stderr: a line with its time for each level and finding. On a terminal, below them, the present
# figures and how far the plan is, or what is done now. In a log lines begin with the wall time, too; steps of the autopilot have
# none, since the line of a level follows each; and after a silence of a minute a line says what is done.


BAR_CELLS = 30
SILENCE_MOST_S = 60.0
"""Some CI systems end a job that writes nothing for ten minutes."""


class Report(Protocol):
    """What is done with the log of a headless run that has ended."""

    def of_run(self, log: Path, code: int) -> int:
        """Write or print it for the run that ended with this exit code. Returns the command's exit code."""


def explore_headless(options: RunOptions, report: Report) -> int:
    """Run until the plan, the autopilot, a signal or a failure ends it, then write what is wanted. Returns the exit code. stdout
    gets the log's path, unless it is for the report of a sweep.
    """
    with live_run(options) as assembled:
        run, capture = assembled.run, assembled.capture
        if not run.is_driven and options.sweep is None:
            needs = "needs --plan, --autopilot or --require"
            raise InputError(f"--headless: {needs}: {options.locustfile} has no shape that would end the run")
        timeline = run.timeline_of_events()
        progress = Progress(capture.stderr, options.steps, capture.stdout if options.sweep is None else capture.stderr, timeline)
        run.server.let_end(partial(run.outcome.interrupt, "SIGTERM"))
        with signals_to(run.outcome.interrupt):
            progress.watch(run, run.sweep(timeline) or run.unattended())
            run.close()
            progress.end(run)
    if capture.stdout_failure is not None:
        print_line(f"stdout: cannot be written: {capture.stdout_failure}; saved: {run.path}")
    code = report_failure(run)
    return code if run.path is None else report.of_run(run.path, code)


class Progress:
    """Prints what happens. `steps`: those of the run's plan; none for the autopilot or a shape. `stdout`: gets the log's path.
    `timeline`: an empty one; None: with columns of its own.
    """

    def __init__(
        self, stderr: IO[str] | None, steps: Sequence[Step] = (), stdout: IO[str] | None = None, timeline: Timeline | None = None
    ) -> None:
        is_terminal = stderr is not None and stderr.isatty() and os.environ.get("TERM", "") not in DUMB
        self._console = Console(file=stderr, highlight=False, soft_wrap=True, force_terminal=is_terminal)
        """Its own test would take a CI system with FORCE_COLOR for a terminal, and write bars and colours to its log."""
        self._steps, self._timeline = steps, Timeline() if timeline is None else timeline
        self._printed: set[str] = set()
        """Keys of the findings that were printed in full, and sentences about findings."""
        self._spoke_s = 0.0
        """Time of the latest line."""
        self._states: dict[Requirement, State] = {}
        """Of each requirement as of the latest line about it."""
        self._stdout, self._has_begun = stdout, False

    def watch(self, run: LiveRun, outcome: Unattended | SweepDriver) -> None:
        """Follow a run until its outcome is known, on the main thread: a native queue waits, so signals are handled at once."""
        woken = SimpleQueue[None]()
        run.start(lambda: woken.put(None))
        live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        with live:  # lines that users print are in the session and must not appear here as well
            while outcome.reason is None:
                _wait_for_events(woken)
                self._take_from(run)
                if self._console.is_terminal and self._has_begun:
                    live.update(Group(figures(self._timeline), how_far(self._timeline, self._steps)), refresh=True)

    def _take_from(self, run: LiveRun) -> None:
        """Print the path of the log, once, and the events so far."""
        if run.path is not None and not self._has_begun:
            click.echo(run.path, file=self._stdout)
            self._has_begun = True
        self.take(run.take())

    def end(self, run: LiveRun) -> None:
        """Print the verdict after everything is recorded: the last marks are made when a run is closed."""
        self._take_from(run)
        if self._timeline.levels:
            for judged in wording.judgements(self._timeline).values():
                self._console.print(Text(printable(f"verdict: {judged.sentence}")))
        for sentence in wording.operating_loads(self._timeline):
            self._console.print(Text(printable(f"recommended: {sentence}")))
        for each in self._timeline.answers:
            self._console.print(Text(f"required: {wording.answer(each)}"))

    def take(self, events: Sequence[Event]) -> None:
        """Print a line for each event of importance. The reason for the run's end is printed by others."""
        for event in events:
            self._timeline.apply(event)
        for event in events:
            line = self._line(event)
            if line is not None:
                self._say(event.t_s, line)
        if not self._console.is_terminal and self._timeline.last_s >= self._spoke_s + SILENCE_MOST_S:
            self._say(self._timeline.last_s, state(self._timeline, self._steps))

    def _say(self, t_s: float, line: str) -> None:
        self._spoke_s, header = t_s, self._timeline.header
        times = [wording.wall_time_at(header.started_at, t_s)] if header is not None and not self._console.is_terminal else []
        self._console.print(Text("  ".join(filter(None, (*times, wording.session_time(t_s), printable(line))))))

    def _line(self, event: Event) -> str | None:
        """The line for closed levels, states of the target, findings, answers, steps of the autopilot; else None."""
        match event:
            case Command(by="autopilot", name=name) if name in ("autopilot", "stacks") or self._console.is_terminal:
                return wording.command(event)
            case LevelClosed():
                return level_line(event) + self._of_stacks(event)
            case Target(state="starting" | "ready", reason=str()):
                return wording.target(event)
            case Target(state="starting") if self._timeline.sweep is not None:
                return wording.sweep_step(self._timeline) or None
            case Target(state="building" | "ready" | "died" | "failed"):
                return f"target {event.state}"
            case Mark():
                return self._finding(event)
            case Answered():
                return self._news(event)
            case Explained():
                return self._shown(event)
            case Log(level="error", source="capexplorer"):
                return event.text
            case Log() if event.warns and self._timeline.is_before_load(event):
                return event.text
        return None

    def _of_stacks(self, closed: LevelClosed) -> str:
        """Behind the line of a level in which stacks were sampled: by what, and what it cost beside the level before."""
        event = next((each for each in reversed(self._timeline.stacks) if each.level == closed.index), None)
        if event is None:
            return ""
        cost = sampling_cost(self._timeline, event)
        return f"; {stacks.sampled(event)}" + (f"; {stacks.sampling_cost(cost)}" if cost is not None else "")

    def _news(self, answered: Answered) -> str | None:
        """What is decided now and was not before, without its figures, which the end of the run says; None: nothing is."""
        news = [each for each in answered.answers if each.state != self._states.get(each.required, "undecided")]
        self._states |= {each.required: each.state for each in answered.answers}
        return "; ".join(f"{wording.text_of(each.required)}: {STATES[each.state]}" for each in news) or None

    def _shown(self, explained: Explained) -> str | None:
        """What the latest experiment showed, once it has ended; None: it was printed."""
        outcomes = explained.explanation.outcomes
        level = self._timeline.level
        if not outcomes or (level is not None and level.closed is None and level.opened.index == outcomes[-1].level):
            return None
        line = f"experiment {wording.outcome(outcomes[-1])}"
        if line in self._printed:
            return None
        self._printed.add(line)
        return line

    def _finding(self, mark: Mark) -> str | None:
        """A finding in full, once. That it ended, began again or was retracted is said without its readings and advice."""
        if mark.kind == "bottleneck" and mark.severity == "info":
            return None  # nothing limits the service: the verdict says it once
        contradicts = _contradicts(mark, self._timeline)
        if mark.state == "updated" and not contradicts:
            return None
        is_new = mark.key not in self._printed or contradicts
        self._printed.add(mark.key)
        name = wording.epoch_name(self._timeline, mark.epoch)
        sentence = wording.mark(mark, self._timeline.header) if is_new else wording.short_sentence(mark)
        line = f"{mark.severity}: {f'{name}: ' if name else ''}{sentence}"
        if line in self._printed:
            return None
        self._printed.add(line)
        return line


def _wait_for_events(woken: SimpleQueue[None]) -> None:
    try:
        woken.get(timeout=0.25)
        while True:
            woken.get_nowait()
    except Empty:
        return


def _contradicts(mark: Mark, timeline: Timeline) -> bool:
    """Whether this revision is the opposite of what was printed: the service has recovered after all, or has not."""
    revisions = (each for each in timeline.journal if isinstance(each, Mark) and each.key == mark.key)
    return any(each.revision == mark.revision - 1 and each.kind == mark.kind and each.id != mark.id for each in revisions)


def level_line(closed: LevelClosed) -> str:
    """One level in one line."""
    figures = closed.figures
    if closed.bins and isinstance(closed.load, Rate):
        return f"ramp to {offered_rate(closed.load.per_s)} offered: {_most_finished(closed.bins)}"
    if closed.bins:
        return f"ramp to {counted(closed.users)}: {_most(closed.bins)}"
    load = (
        f"level {counted(closed.users):>11}"
        if isinstance(closed.load, Users)
        else f"level {offered_rate(closed.load.per_s):>7} offered"
    )
    if closed.void is not None:
        return f"{load}: {wording.VOID[closed.void]}"
    if figures.offered is not None:
        return f"{load}: {_iterations(figures.offered, figures)} in {_settled(figures)}"
    if figures.goodput_rps is None:
        settling = (
            f"users settle in {closed.settling_s:.0f} s, and whole seconds after that count"
            if closed.settling_s is not None
            else None
        )
        why = (closed.users and wording.warm(figures)) or settling
        known = (why, f"{figures.failures_while_unsettled} failures")
        return ", ".join((f"{load}: did not settle", *filter(None, known)))
    return (
        f"{load}: {_goodput(figures)}, p95 {latency(figures.latency_ms.p95)},"
        f"{_of_streams(figures)} {figures.failures} failures in {_settled(figures)}"
    )


def _goodput(figures: LevelFigures) -> str:
    """`goodput 42.0 ± 1.2/s`, `within limits 42.0 ± 1.2/s of 60/s (beyond: tpot 30%)`."""
    known = f"{goodput_name(figures)} {_with_error(figures.goodput_rps or 0.0, figures.goodput_se_rps)}"
    if figures.served_rps is None:
        return known
    return f"{known} of {rate(figures.throughput_rps)} (beyond: {beyond_limits(figures)})"


def _of_streams(figures: LevelFigures) -> str:
    """` ttft p95 210 ms, tpot p95 12.1 ms,`; empty without streams."""
    known = [stage for stage in TABLED if stage in figures.stages]
    return "".join(f" {stage} p95 {latency(figures.stages[stage].ms.p95)}," for stage in known)


def _settled(figures: LevelFigures) -> str:
    """`3 settled seconds`."""
    seconds = round(figures.settled_seconds)
    return f"{seconds} settled second{'s' * (seconds != 1)}"


def _iterations(offered: OfferedFigures, figures: LevelFigures) -> str:
    """`finished 198.0 ± 1.2/s, p95 from plan 12.1 ms, 2 failed, 31 dropped (31 held by the target)`."""
    finished, p95 = _with_error(offered.finished_per_s, offered.finished_se_per_s), latency(offered.from_plan_ms.p95)
    why = wording.drops(offered.dropped)
    dropped = f"{offered.dropped.total} dropped" + (f" ({why})" if why else "")
    return f"finished {finished}, p95 from plan {p95},{_of_streams(figures)} {offered.failed} failed, {dropped}"


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


def how_far(timeline: Timeline, steps: Sequence[Step]) -> RenderableType:
    """A bar for the share of the plan's time that has passed, with the rest. Where the end is not known, as of an autopilot or a
    shape, one line that says what is done now.
    """
    done, text = _done(timeline, steps)
    if done is None:
        return Text(text, no_wrap=True, overflow="ellipsis")
    bar = Table.grid(padding=(0, 1))
    bar.add_row(ProgressBar(total=1.0, completed=done, width=BAR_CELLS), Text(text))
    return bar


def state(timeline: Timeline, steps: Sequence[Step]) -> str:
    """The same as a line of a log, with the present figures: `62%, step 3 of 4, 00:15 left; 118/s, p95 212 ms`."""
    present = {name: timeline.columns[name][-1] for name in ("throughput_rps", "p95_ms") if timeline.columns[name]}
    figures = f"{rate(present.get('throughput_rps'))}, p95 {latency(present.get('p95_ms'))}"
    return "; ".join(filter(None, (_done(timeline, steps)[1], figures)))


def _done(timeline: Timeline, steps: Sequence[Step]) -> tuple[float | None, str]:
    """(share of the plan's time that has passed, in words with the rest); None: its end is not known. Time for starting users is
    not part of it, so that the end may be later.
    """
    begun = [level for level in timeline.levels if level.opened.by == "plan"]
    total_s = math.fsum(step.hold_s for step in steps)
    if not total_s or any(step.is_autopilots for step in steps):
        return None, _done_now(timeline, steps, len(begun))
    before_s = math.fsum(step.hold_s for step in steps[: max(len(begun) - 1, 0)])
    hold_s = steps[min(len(begun), len(steps)) - 1].hold_s if begun else 0.0
    passed_s = before_s + (min(timeline.last_s - begun[-1].opened.t_s, hold_s) if begun else 0.0)
    left = wording.session_time(total_s - passed_s)
    return passed_s / total_s, f"{passed_s / total_s:.0%}, step {len(begun)} of {len(steps)}, {left} left"


def _done_now(timeline: Timeline, steps: Sequence[Step], levels: int) -> str:
    """`step 2 of 3, finding the knee: measuring 20 users; next step in 4–12 s`, of the autopilot what follows the comma, of a
    shape `level 2 of the shape: 6 users`. `levels`: those that the plan has opened, one for each step that is not the
    autopilot's, or the shape.
    """
    now, is_autopilots = wording.under_way(timeline), wording.is_autopilots(timeline)
    if timeline.sweep is not None:
        return ", ".join(filter(None, (wording.sweep_step(timeline), now)))
    if not now or not (steps or levels):
        return now
    if not steps:
        return f"level {levels} of the shape: {now}"
    own = [number for number, step in enumerate(steps, 1) if not step.is_autopilots]
    latest = own[min(levels, len(own)) - 1] if levels and own else 0
    return f"step {min(latest + is_autopilots, len(steps))} of {len(steps)}{', ' if is_autopilots else ': '}{now}"


def figures(timeline: Timeline) -> Table:
    """The present figures."""
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
    if isinstance(timeline.load, Users):
        return {}
    return {
        "offered/s": offered_rate(timeline.load.per_s).removesuffix("/s"),
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


# -- detaching -----------------------------------------------------------------------------------------------------------------
# `run --detach`: a run in the background, without a terminal. The command returns when the target is ready or has failed.


_READ_BYTES = 4096
_WAITING = "waiting: "
"""Begins the lines about a slow start, before the line with the session's id."""


def detached(options: RunOptions, prepare: Callable[[RunOptions], None]) -> int:
    """Fork, before there are threads; `prepare` is called in the new process. Returns the exit code, in both."""
    ready, errors = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(ready[1])
        os.close(errors[1])
        return _started(pid, ready[0], errors[0], options)
    os.close(ready[0])
    os.close(errors[0])
    os.setsid()
    release_input()
    for fd in (1, 2):
        os.dup2(errors[1], fd)
    os.close(errors[1])
    prepare(options)
    return _explore(options, ready[1])


def _started(pid: int, ready: int, errors: int, options: RunOptions) -> int:
    """In the first process: wait until the run is ready, and print how to attach; or print its error and return its exit code."""
    with signals_to(partial(_leave, pid)):
        session = _session(ready)
        sentence = _all(errors) if not session else ""
        if not session:
            _, status = os.waitpid(pid, 0)
    if not session:
        click.echo(sentence or "capexplorer: the run ended before it was ready", err=True, nl=not sentence)
        return os.waitstatus_to_exitcode(status) or 1
    click.echo(session)
    for line in run_goes_on(session):
        print_line(line)
    if not options.steps and not options.autopilot:
        kept_s = options.profile.guards.unattended_s
        print_line(f"load by hand ends after {kept_s:g} s in which no attached screen has the controls")
    return 0


def _leave(pid: int, name: str) -> NoReturn:
    """A signal ends the run that is not ready; a closed terminal does not."""
    if name != HANG_UP:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
    raise SystemExit(128 + getattr(signal, name))


def _session(ready: int) -> str:
    """The session's id once the run is ready, empty if it ended before. Until then it is printed what the run waits for."""
    with open(ready, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.startswith(_WAITING):
                return line.strip()
            print_line(printable(line.removeprefix(_WAITING).rstrip("\n")))
    return ""


def _all(fd: int) -> str:
    """All text from the other end until it is closed."""
    data = b""
    while chunk := os.read(fd, _READ_BYTES):
        data += chunk
    return data.decode("utf-8", "replace")


def _explore(options: RunOptions, ready: int) -> int:
    """In the new process: run until the plan, the autopilot, a person or a failure ends it."""
    with live_run(options) as assembled, signals_to(lambda name: _interrupt(assembled, name)):
        _wait_until_ready(assembled, ready)
        assembled.run.close()
    return report_failure(assembled.run)


def _interrupt(assembled: AssembledRun, name: str) -> None:
    if name != HANG_UP:
        assembled.run.outcome.interrupt(name)


def _wait_until_ready(assembled: AssembledRun, ready: int) -> None:
    from ...load import native
    from ...run.screens import POLL_S

    run, unattended = assembled.run, assembled.run.unattended()
    run.server.let_end(unattended.stop)
    run.start(lambda: None)
    while not any(map(_is_ready, events := run.take())):
        for event in events:
            if isinstance(event, Target) and event.state == "starting" and event.reason:
                os.write(ready, f"{_WAITING}{wording.target(event)}\n".encode())
        if run.outcome.reason is not None:
            return
        native.sleep(POLL_S)
    assert run.path is not None
    os.write(ready, f"{run.path.stem}\n".encode())
    assembled.capture.discard_output()
    while unattended.reason is None:
        native.sleep(POLL_S)
        run.take()  # no screen does


def _is_ready(event: Event) -> bool:
    return isinstance(event, Target) and event.state == "ready"


_LEAST_ADDRESS_SPACE_BYTES = 512 << 20
"""A run has 80 MB in memory, and reserves 740 MB of addresses where it may. With 450 MB runs worked; with 400 and 300 MB some
ended because a thread could not be started."""


def explore(options: RunOptions, asked: RunArguments) -> int:
    """Run until the user, the plan, a signal or a failure ends it. Returns the exit code."""
    driven = options.steps or options.autopilot
    if asked.headless and not driven and not (options.locustfile and options.follow_shape):
        raise InputError("--headless: needs --plan, --autopilot or --require (or a locustfile with a shape)")
    if asked.detach and not driven and not options.profile.guards.unattended_s:
        needs = "needs --plan, --autopilot or --require, or [guards] unattended_s above 0"
        raise InputError(f"--detach: {needs}: else it would end at once")
    if (asked.baseline is not None or asked.mouse) and (asked.headless or asked.detach):
        raise InputError(f"{'--baseline' if asked.baseline is not None else '--mouse'}: needs the live screen")
    if not asked.headless and asked.of_results:
        raise InputError(
            f"{next(iter(asked.of_results))}: needs --headless; `export` and `compare` write results of a saved session"
        )
    if not asked.headless and not asked.detach:
        require_screen("the live screen", "run --headless --plan ... or run --detach")
    check_shell_limits(options.profile.limits.generator.open_files)
    if asked.detach and (why := run_sockets.why_none()):
        raise InputError(f"--detach: no screen could be attached to the run, and `stop` could not end it: {why}")
    if asked.detach:
        return detached(options, enter_network)
    if asked.headless:
        from .reporting import reporting_of

        reporting = reporting_of(asked)
        enter_network(options)
        return explore_headless(options, reporting)
    enter_network(options)
    from .on_screen import explore_on_screen

    return explore_on_screen(options, asked)


def enter_network(options: RunOptions) -> None:
    """Enter the session's own network namespace, if it has one. Must precede imports that start threads."""
    namespace.enter(options.profile.limits.network, sandbox=options.sandbox)


def check_shell_limits(own_open_files: int | None) -> None:
    """Refuse a run with too few file descriptors, which could not report its failures, and in too small an address space, where a
    thread or an import would fail at any place. `own_open_files`: the session's own limit, whose lower bound the profile checks.
    """
    if sys.platform == "win32":
        return
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if own_open_files is None and hard != resource.RLIM_INFINITY and hard < LEAST_GENERATOR_OPEN_FILES:
        needed = f"a run needs {LEAST_GENERATOR_OPEN_FILES}, plus one for each user's connection"
        raise InputError(f"open files: the hard limit here is {hard} (ulimit -Hn), {needed}")
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space != resource.RLIM_INFINITY and space < _LEAST_ADDRESS_SPACE_BYTES:
        needed = f"a run needs {_LEAST_ADDRESS_SPACE_BYTES >> 10}"
        raise InputError(f"virtual memory: the limit here is {space >> 10} kB (ulimit -v), {needed}")
