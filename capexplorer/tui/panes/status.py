"""The status area: the session, the target and its state, the load, and the accuracy of the figures.

`status` is pure: (timeline, view) to lines of cells. It shows requested changes at once; the panes follow at the next tick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from rich.style import Style
from textual.strip import Strip

from ... import wording
from ...model.events import Command, TargetState, Verdict, clients_of
from ...model.load import NO_LOAD, Rate, Users
from ...model.timeline import Timeline
from ...model.verdicts import RateLevelVerdict
from ...wording import quantities
from ..display_options import Palette
from ..protocols import JOURNAL_BACK, View, last_of_autopilot
from ..render import text
from ..render.text import Piece, styled
from . import resource_rows
from .failures import VERDICT_LINES, color_of, tally
from .pane import StripsWidget

# -- groups --------------------------------------------------------------------------------------------------------------------
# A line of groups of text. In a narrow terminal the least important groups are left out; no group is cut.


_GAP = "   "


class Group(msgspec.Struct, frozen=True):
    """Pieces that are shown or dropped together. The higher `rank`, the sooner they are dropped; rank 0 stays."""

    pieces: tuple[Piece, ...]
    rank: int = 0
    right: bool = False
    shorter: Group | None = None
    """Pieces that are shown instead if these are dropped."""


def group(words: str, style: Style, rank: int = 0, *, right: bool = False, shorter: Group | None = None) -> Group:
    """A group of one piece."""
    return Group(((words, style),), rank, right, shorter)


def group_line(groups: Sequence[Group], width: int) -> Strip:
    """A line of `width` cells with groups at its left and right edges, without the groups for which there is no space."""
    kept = list(groups)
    while _cells(kept) > width and (worst := max(kept, key=lambda group: group.rank)).rank > 0:
        index = kept.index(worst)
        kept[index : index + 1] = [worst.shorter] if worst.shorter is not None else []
    blank = max(len(_GAP), width - _cells(kept) + len(_GAP))
    left = _joined([group for group in kept if not group.right])
    return text.line([*left, (" " * blank, styled()), *_joined([group for group in kept if group.right])], width)


def _joined(groups: Sequence[Group]) -> list[Piece]:
    return [piece for index, group in enumerate(groups) for piece in (*([(_GAP, styled())] if index else []), *group.pieces)]


def _cells(groups: Sequence[Group]) -> int:
    return text.cells(_joined(groups))


# -- status groups -------------------------------------------------------------------------------------------------------------
# The groups of the status area's first two lines: session, load, level, knee, problems, messages, accuracy.


LAG_WARNING_MS = 10.0
"""Loop lag in ms from which it is a warning: the period of the lag meter's timer."""


def session(timeline: Timeline, palette: Palette) -> list[Group]:
    """Whether the session is being recorded, its time, the profile, and the target with its state."""
    plain, muted = styled(color=palette.text), styled(color=palette.muted)
    bold = styled(color=palette.text, bold=True)
    recording = ("■ ", muted) if timeline.ended else ("● ", styled(color=palette.error))
    groups = [Group((recording, (wording.session_time(timeline.last_s), bold)))]
    header = timeline.header
    if header is None:
        return [*groups, group("starting", muted)]
    profile = text.shorten(text.safe(str(header.profile.get("name") or header.target.name)), 20)
    target = text.shorten(text.safe(header.target.name), 20)
    state = timeline.target.state if timeline.target else ("ready" if header.source else "starting")
    groups.append(group(profile, bold, rank=2))
    named = ((f"{target} ", plain),) if target != profile else ()
    groups.append(Group((*named, (state, styled(color=state_color(state, palette))))))
    return [*groups, group(text.shorten(text.safe(header.target.url), 50), muted, rank=5)]


def state_color(state: TargetState, palette: Palette) -> str:
    """The colour of the target's state: green if it runs, yellow while it changes, red if it has ended."""
    if state == "ready":
        return palette.success
    return palette.error if state in ("died", "failed") else palette.warning


def load(timeline: Timeline, view: View, palette: Palette) -> list[Group]:
    """The users, or the offered rate and its iterations; and the step size."""
    groups = users(timeline, view, palette) if isinstance(view.load, Users) else offered(timeline, view.load, palette)
    if view.can_steer:
        unit = "/s" if view.unit == "rate" else "" if isinstance(view.load, Users) else " users"
        rank = 1 if isinstance(view.load, Users) else 2
        groups.append(group(f"step {view.step}{unit}", styled(color=palette.muted), rank=rank, right=True))
    return groups


def offered(timeline: Timeline, requested: Rate, palette: Palette) -> list[Group]:
    """`offered 200/s   achieved 187/s   in flight 45   dropped 3/s   pool 60 users`, of the last second."""
    muted, bold = styled(color=palette.muted), styled(color=palette.text, bold=True)
    now = timeline.last.offered if timeline.last is not None else None
    pieces = [("offered ", muted), (quantities.offered_rate(requested.per_s), bold)]
    if now is None or now.offered_per_s != requested.per_s:
        pieces[1] = (f"→ {quantities.offered_rate(requested.per_s)}", styled(color=palette.accent, bold=True))
    groups = [Group(tuple(pieces), right=True)]
    if now is None or timeline.last is None:
        return groups
    seconds = timeline.last.duration_s or 1.0
    achieved, dropped = quantities.rate_figure(now.finished / seconds), now.dropped.total / seconds
    groups.append(Group((("achieved ", muted), (achieved, bold)), right=True, shorter=group(achieved, bold)))
    groups.append(Group((("in flight ", muted), (f"{now.in_flight:,}", bold)), right=True, rank=1))
    lost = styled(color=palette.error, bold=True) if dropped else muted
    groups.append(
        Group((("dropped ", muted), (f"{quantities.rate_figure(dropped)}", lost)), right=True, rank=1 if dropped else 3)
    )
    groups.append(group(f"pool {timeline.last.users:,} users", muted, right=True, rank=4))
    return groups


def users(timeline: Timeline, view: View, palette: Palette) -> list[Group]:
    """Current and requested users, and their limit."""
    muted, bold = styled(color=palette.muted), styled(color=palette.text, bold=True)
    now = timeline.last.users if timeline.last else 0
    pieces = [("users ", muted), (f"{now:,}", bold)]
    if now != view.load.users:
        pieces += [(" → ", styled(color=palette.accent)), (f"{view.load.users:,}", styled(color=palette.accent, bold=True))]
    groups = [Group(tuple(pieces), right=True)]
    if view.max_users is not None:
        groups.append(group(f"of {view.max_users:,} allowed", muted, rank=3, right=True))
    return groups


def level(timeline: Timeline, view: View, palette: Palette) -> list[Group]:
    """The level and its progress; while it settles, the share of its warm users if that is too small."""
    muted = styled(color=palette.muted)
    current = timeline.level
    if current is None:
        return [group("no level yet", muted)]
    groups = [Group(((f"level {current.opened.index}", styled(color=palette.text)), (", ", muted), phase(timeline, palette)))]
    warm = wording.warm(current.figures) if timeline.phase == "settling" and current.closed is None else ""
    if warm:
        groups.append(group(warm, styled(color=palette.warning), rank=1))
    if current.opened.stacks:
        groups.append(group("stacks sampled: in no curve", styled(color=palette.warning), rank=1))
    if current.opened.experiment is not None:
        changed = text.shorten(text.safe(wording.changed(current.opened.experiment)), 30)
        groups.append(group(f"experiment, in no curve: {changed}", styled(color=palette.warning), rank=1))
    epoch = wording.sweep_step(timeline) or wording.epoch_name(timeline, current.opened.epoch)
    if epoch:
        groups.append(group(text.shorten(text.safe(epoch), 40), muted, rank=1))
    if view.spawn_rate is not None:
        groups.append(group(f"spawn {view.spawn_rate:g}/s", muted, rank=4))
    return groups


def phase(timeline: Timeline, palette: Palette) -> Piece:
    """The phase of the level: `spawning 12 of 50`, `stopping 30 of 50`, `starting 40/s`, `settling 3 s`, `settled 12 s`,
    `settled 12 s, ended`.
    """
    current, last = timeline.level, timeline.last
    if current is not None and current.closed is not None:
        counted = f"settled {text.span(current.figures.settled_seconds)}, " if current.figures.settled_seconds else ""
        return f"{counted}ended", styled(color=palette.muted)
    if current is None or last is None or timeline.phase in (None, "spawning"):
        if current is not None and isinstance(current.load, Rate):  # its users are a pool, of any size
            verb = "ramp to" if current.opened.ramp else "starting"
            return f"{verb} {quantities.offered_rate(current.load.per_s)}", styled(color=palette.warning)
        of = f" {last.users:,} of {current.users:,}" if current and last else ""
        if current and last and last.users > current.users:
            return f"stopping {last.users - current.users:,} of {last.users:,}", styled(color=palette.warning)
        return f"spawning{of}", styled(color=palette.warning)
    if timeline.phase == "settling":
        return f"settling {text.span(last.t_s - current.started_s)}", styled(color=palette.warning)
    since_s = current.settled_s
    if _grows(timeline) is not None:
        return f"not stationary {text.span(last.t_s - since_s) if since_s is not None else ''}".rstrip(), styled(
            color=palette.warning
        )
    return f"settled {text.span(last.t_s - since_s) if since_s is not None else ''}".rstrip(), styled(color=palette.success)


def knee(timeline: Timeline, palette: Palette) -> list[Group]:
    """`knee 47 [43–52] at 122/s, queueing, provisional`, with shorter forms for narrow terminals."""
    current = timeline.level
    verdict = wording.reported(timeline).get(current.opened.epoch) if current is not None else None
    if current is not None and isinstance(current.load, Rate):
        return _rate(verdict, palette)
    found = verdict.capacity.knee if verdict is not None else None
    if found is None:
        return []
    marked = found.kind in ("knee", "at_or_below")
    style = styled(color=palette.text if marked else palette.muted, bold=marked)
    words = wording.knee(found)
    word = wording.verified(found)
    forms = [f"{words}, {word}" if word else words, words, wording.short_knee(found)]
    found_group = None
    for rank, form in enumerate(reversed(list(dict.fromkeys(forms))), start=1):
        found_group = group(form, style, rank=min(rank, 2), shorter=found_group)
    return [found_group] if found_group is not None else []


def _rate(verdict: Verdict | None, palette: Palette) -> list[Group]:
    """`capacity 198/s [190–206], queues beyond`."""
    found = verdict.rates.capacity if verdict is not None and verdict.rates is not None else None
    if found is None:
        return []
    marked = found.kind in ("capacity", "at_or_below")
    style = styled(color=palette.text if marked else palette.muted, bold=marked)
    brief = group(wording.short_rate_capacity(found), style, rank=1)
    return [group(wording.rate_capacity(found), style, rank=2, shorter=brief)]


def growth(timeline: Timeline, palette: Palette) -> list[Group]:
    """`the queue grows by 84/s`."""
    found = _grows(timeline)
    sentence = "" if found is None else wording.rate_level(found).rpartition(": ")[2]
    return [group(sentence, styled(color=palette.warning, bold=True), rank=1)] if sentence else []


def _grows(timeline: Timeline) -> RateLevelVerdict | None:
    """The verdict on the current level if it certainly has a growing queue, so that its figures depend on how long it lasts."""
    current, verdict = timeline.level, timeline.current_verdict
    levels = verdict.rates.levels if verdict is not None and verdict.rates is not None else ()
    found = next((each for each in levels if current is not None and each.level == current.opened.index), None)
    return found if found is not None and found.state == "queue_grows" and found.why != "recovery" else None


def problems(timeline: Timeline, palette: Palette) -> list[Group]:
    """`ports full in 42 s`, and `3 causes (f)`: current problems, and the key that shows details."""
    groups, found = [], tally(timeline)
    if found.open:
        style = styled(color=palette.error if found.severe else palette.warning, bold=True)
        causes = f"{found.open} cause{'s' * (found.open != 1)} (f)"
        groups.append(group(causes, style, rank=2))  # a narrow terminal has the count on a tab
    short = resource_rows.shortage(timeline)
    if short is not None:
        style = styled(color=palette.error if short.exhausted else palette.warning, bold=True)
        groups.append(group(short.words, style, rank=2 if short.exhausted else 0))  # the verdict states it if exhausted
    return groups


def messages(view: View, palette: Palette, width: int) -> list[Group]:
    """The message in response to the last key, and whether the display is paused."""
    groups = []
    if view.message:
        color = palette.error if view.alarm else palette.text
        words = text.shorten(text.safe(view.message), width - 32)
        groups.append(group(words, styled(color=color, bold=True), right=True))
    if view.paused:
        badge = styled(color=palette.background, bgcolor=palette.warning, bold=True)
        groups.append(Group(((" PAUSED ", badge),), right=True))
    return groups


def accuracy(timeline: Timeline, palette: Palette) -> list[Group]:
    """The accuracy of latencies: the overhead that each client class in use adds to them, and the generator's loop lag."""
    muted, groups = styled(color=palette.muted), []
    overheads = timeline.header.client_overhead_ms if timeline.header else {}
    for index, client in enumerate(clients_of(timeline.header) if timeline.header else ()):
        floor = overheads.get(client)
        known = (
            " (overhead unknown)"
            if floor is None
            else f" overhead {quantities.latency_figure(floor.p50_ms)}, p99 {quantities.latency_figure(floor.p99_ms)}"
        )
        words = f"{text.safe(client)}{known}"
        groups.append(group(words, muted, rank=3 + index, right=True))
    lag_ms = timeline.last.generator.loop_lag_p99_ms if timeline.last and timeline.last.generator else None
    if timeline.last is not None:
        late = lag_ms is not None and lag_ms >= LAG_WARNING_MS
        style = styled(color=palette.warning, bold=True) if late else muted
        figure = quantities.latency_figure(lag_ms) + " !" * late
        brief = group(f"lag {figure}", style, right=True) if late else None
        shorter = group(f"loop lag p99 {figure}", style, rank=1 if late else 2, right=True, shorter=brief)
        groups.append(group(f"generator timer delay (loop lag) p99 {figure}", style, rank=9, right=True, shorter=shorter))
    return groups


# -- banners -------------------------------------------------------------------------------------------------------------------
# The further lines of the status area, below its first two: verdict, baseline, controls, autopilot, next step, alarms. Each
# function returns no line while it has nothing to show.


LOST_CELLS = 12
"""Cells at a line's end that wrapping may leave unused."""

OUTPUT_LINES = 2
"""Number of a dead target's last output lines that the status area shows; the log pane has all."""

_ALL_SETTINGS = "; s: settings"


def verdict(timeline: Timeline, palette: Palette, width: int, most: int = VERDICT_LINES) -> list[Strip]:
    """The verdict in at most `most` lines, shortened if it is longer; the failures pane shows it in full. Empty while the session
    runs and the verdict contains no mark, since then it is the knee of the line above.
    """
    judged = wording.judgement(timeline)
    if not judged.marked and timeline.ended is None:
        return []
    words, cells = text.safe(wording.before_restart(timeline, judged.epoch).capitalize() + judged.sentence), max(width - 2, 2)
    lines = text.wrap(words, cells)
    if len(lines) > most:
        lines = text.wrap(text.clauses(words, most * cells - LOST_CELLS), cells)[:most]
    style = styled(color=color_of(judged.severity, palette), bold=True)
    return [text.line([("  " if index else "▸ ", style), (each, style)], width) for index, each in enumerate(lines)]


def operating(timeline: Timeline, palette: Palette, width: int) -> list[Strip]:
    """One line once a load can be recommended: `STAY AT 18 users or fewer, 53/s: p95 67 ms [61–74 ms]`."""
    words = wording.operating_now(timeline)
    if not words:
        return []
    badge = _badge("STAY AT", palette.success, palette)
    shown = text.clauses(words, _beside(badge, width) - len(_ALL_SETTINGS)) + _ALL_SETTINGS
    return [text.line([badge, (f" {shown}", styled(color=palette.text))], width)]


def requirements(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """A line for each answer. Of more than a verdict may have lines those not met come first, and the last counts the others."""
    colors = {"not_met": palette.error, "undecided": palette.muted, "met": palette.success}
    answers, most = timeline.answers, 1 if view.brief else view.verdict_lines
    if len(answers) > most:
        answers = tuple(sorted(answers, key=lambda each: list(colors).index(each.state)))
    shown, rest = (answers, ()) if len(answers) <= most else (answers[: most - 1], answers[most - 1 :])
    lines = [(wording.STATES[each.state].upper(), colors[each.state], wording.short_answer(each)) for each in shown]
    if rest:
        states = Counter[str](each.state for each in rest)
        lines.append(("REQUIRED", colors[rest[0].state], f"{'' if not shown else 'and '}{wording.tally(states)}"))
    badges = [(_badge(name, color, palette), words) for name, color, words in lines]
    plain = styled(color=palette.text)
    return [text.line([badge, (f" {text.shorten(words, _beside(badge, width))}", plain)], width) for badge, words in badges]


def baseline(view: View, palette: Palette, width: int) -> list[Strip]:
    """One line while a baseline is drawn: how the level differs from it."""
    if not view.baseline:
        return []
    badge = _badge("BASELINE", palette.muted, palette)
    shown = text.shorten_end(text.safe(view.baseline), _beside(badge, width))
    return [text.line([badge, (f" {shown}", styled(color=palette.text))], width)]


def controls(view: View, palette: Palette, width: int) -> list[Strip]:
    """One line on who has the controls, if the run has several screens or this one cannot steer."""
    if not view.controls:
        return []
    badge = _badge("CONTROLS", palette.warning if view.controls_asked else palette.accent, palette)
    shown = text.shorten(text.safe(view.controls), _beside(badge, width))
    return [text.line([badge, (f" {shown}", styled(color=palette.text))], width)]


def autopilot(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """One line while the autopilot is on, with the reason for its last step."""
    if not view.autopilot:
        return []
    badge = _badge("AUTOPILOT", palette.accent, palette)
    last = last_of_autopilot(timeline)
    words = (
        wording.command(last).replace(", autopilot", "", 1)
        if last is not None and last.name in ("users", "rate")
        else "measuring"
    )
    settled_s = timeline.level.figures.settled_seconds if timeline.level is not None else 0.0
    words = (wording.verifying(last.args, settled_s) if last is not None else None) or words
    countdown = wording.until_next(timeline)
    end = f"; {countdown}" if countdown else ""
    shown = text.clauses(text.safe(words), _beside(badge, width) - len(end)) + end
    return [text.line([badge, (f" {shown}", styled(color=palette.text))], width)]


def next_step(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """One line: the proposed next step and the key that performs it; keys only where they have an effect."""
    step = wording.next_step(timeline, can_restart=view.can_restart, exported=view.exported, by_rate=view.unit == "rate")
    if view.autopilot or (step is None and not view.can_steer):
        return []
    step = step or wording.NextStep("", "no level is measured yet")
    badge = _badge("NEXT", palette.success if step.key else palette.muted, palette)
    acts = (view.can_steer and view.has_controls) or step.key in ("e", "f", "q")
    key = (f"{step.key}: " if acts else "") if step.key else "wait: "
    shown = text.shorten_end(text.safe(step.words), _beside(badge, width) - len(key))
    bold, plain = styled(color=palette.text, bold=True), styled(color=palette.text)
    return [text.line([badge, (f" {key}", bold), (shown, plain)], width)]


def plan_ended(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """On a live screen, from a plan's end until the next step: that it ended, and the keys to continue."""
    last = next((each for each in reversed(timeline.journal[-JOURNAL_BACK:]) if _sets_load(each)), None)
    live = view.can_steer and timeline.ended is None
    if not live or not isinstance(last, Command) or last.args.get("why") != "finished" or view.load.users != timeline.wanted:
        return []
    what, _, words = wording.plan(last.args).partition(": ")
    badge = _badge(what.upper(), palette.accent, palette)
    shown = text.shorten(f"{words}; + - load, a autopilot, p plan, x zero", _beside(badge, width) - 1)
    return [text.line([badge, (f" {shown}", styled(color=palette.text))], width)]


def _badge(name: str, color: str, palette: Palette) -> Piece:
    """The name of a line, on a coloured ground."""
    return f" {name} ", styled(color=palette.background, bgcolor=color, bold=True)


def _beside(badge: Piece, width: int) -> int:
    """Cells of a line of `width` cells that its badge and a space leave."""
    return width - text.cells([badge]) - 1


def _sets_load(entry: object) -> bool:
    """Whether this entry set the users or started a driver."""
    return isinstance(entry, Command) and entry.name in ("users", "rate", "new_level", "zero", "restart", "autopilot", "plan")


def alarms(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """One line for each problem: a dead target, a log that cannot be written, the end of the session."""
    style = styled(color=palette.background, bgcolor=palette.error, bold=True)
    return [text.line([(text.pad(text.safe(alarm), width), style)], width) for alarm in _alarms(timeline, view)]


def _alarms(timeline: Timeline, view: View) -> list[str]:
    lines = []
    target = timeline.target
    if target is not None and target.state in ("died", "failed"):
        is_retrying = view.can_steer and target.state == "failed"
        consequence = "; press t to restart it" if view.can_restart else "; retrying" if is_retrying else ""
        lines.append(f"✗ {wording.target(target)}{consequence}")
        lines += [f"  │ {output}" for output in target.output[-OUTPUT_LINES:]]
    if timeline.broken is not None:
        lines.append(f"✗ {timeline.broken.text}")
    if timeline.ended is not None:
        reason = timeline.ended.reason
        lines.append(f"■ session {reason if reason.startswith('ended by ') else f'ended: {reason}'}")
    return lines


# -- the area ------------------------------------------------------------------------------------------------------------------


class StatusArea(StripsWidget):
    """Two lines of groups, and the banners."""

    DEFAULT_CSS = "StatusArea { height: 2; dock: top; background: $panel; color: $foreground; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__(id="status")
        self.timeline, self.view, self.palette = Timeline(), View(load=NO_LOAD), Palette()

    def show(self, timeline: Timeline, view: View, palette: Palette) -> None:
        """Draw this moment; writes only what changed."""
        self.timeline, self.view, self.palette = timeline, view, palette
        strips = self.drawn()
        if len(strips) != len(self._strips):
            self._strips = strips
            self.styles.height = len(strips)
        else:
            self.replace(strips)

    def drawn(self) -> list[Strip]:
        """The lines of this moment."""
        return status(self.timeline, self.view, self.palette, self.size.width)


def status(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """All lines, each `width` cells."""
    words = messages(view, palette, width) or accuracy(timeline, palette)
    first = [*session(timeline, palette), *load(timeline, view, palette)]
    second = [
        *level(timeline, view, palette),
        *growth(timeline, palette),
        *knee(timeline, palette),
        *problems(timeline, palette),
    ]
    return [
        group_line(first, width),
        group_line([*second, *words], width),
        *([] if view.brief else verdict(timeline, palette, width, view.verdict_lines)),
        *([] if view.brief else operating(timeline, palette, width)),
        *requirements(timeline, view, palette, width),
        *baseline(view, palette, width),
        *controls(view, palette, width),
        *autopilot(timeline, view, palette, width),
        *next_step(timeline, view, palette, width),
        *plan_ended(timeline, view, palette, width),
        *alarms(timeline, view, palette, width),
    ]
