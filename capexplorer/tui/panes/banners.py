"""The further lines of the status area, below its first two: verdict, baseline, controls, autopilot, next step, alarms. Each
function returns no line while it has nothing to show.
"""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from ... import wording
from ...model.events import Command
from ...model.timeline import Timeline
from ..display_options import Palette
from ..render import text
from ..render.text import Piece
from .failure_causes import VERDICT_LINES, color_of
from .status_view import JOURNAL_BACK, View, last_of_autopilot

LOST_CELLS = 12
"""Cells at a line's end that wrapping may leave unused."""

OUTPUT_LINES = 2
"""Number of a dead target's last output lines that the status area shows; the log pane has all."""


def verdict(timeline: Timeline, palette: Palette, width: int, most: int = VERDICT_LINES) -> list[Strip]:
    """The verdict in at most `most` lines, shortened if it is longer; the failures pane shows it in full. None while the session
    runs and the verdict contains no mark, since then it is the knee of the line above.
    """
    judged = wording.judgement(timeline)
    if not judged.marked and timeline.ended is None:
        return []
    words, cells = text.safe(judged.sentence), max(width - 2, 2)
    lines = text.wrap(words, cells)
    if len(lines) > most:
        lines = text.wrap(text.clauses(words, most * cells - LOST_CELLS), cells)[:most]
    style = Style(color=color_of(judged.severity, palette), bold=True)
    return [text.line([("  " if index else "▸ ", style), (each, style)], width) for index, each in enumerate(lines)]


def baseline(view: View, palette: Palette, width: int) -> list[Strip]:
    """One line while a baseline is drawn: how the level differs from it."""
    if not view.baseline:
        return []
    badge = _badge("BASELINE", palette.muted, palette)
    shown = text.shorten_end(text.safe(view.baseline), _beside(badge, width))
    return [text.line([badge, (f" {shown}", Style(color=palette.text))], width)]


def controls(view: View, palette: Palette, width: int) -> list[Strip]:
    """One line on who has the controls, if the run has several screens or this one cannot steer."""
    if not view.controls:
        return []
    badge = _badge("CONTROLS", palette.warning if view.controls_asked else palette.accent, palette)
    shown = text.shorten(text.safe(view.controls), _beside(badge, width))
    return [text.line([badge, (f" {shown}", Style(color=palette.text))], width)]


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
    return [text.line([badge, (f" {shown}", Style(color=palette.text))], width)]


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
    bold, plain = Style(color=palette.text, bold=True), Style(color=palette.text)
    return [text.line([badge, (f" {key}", bold), (shown, plain)], width)]


def plan_ended(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """On a live screen, from a plan's end until the next step: that it ended, and the keys to continue."""
    last = next((each for each in reversed(timeline.journal[-JOURNAL_BACK:]) if _sets_load(each)), None)
    live = view.can_steer and timeline.ended is None
    if not live or not isinstance(last, Command) or last.args.get("why") != "finished" or view.wanted != timeline.wanted:
        return []
    what, _, words = wording.plan(last.args).partition(": ")
    badge = _badge(what.upper(), palette.accent, palette)
    shown = text.shorten(f"{words}; + - load, a autopilot, p plan, x zero", _beside(badge, width) - 1)
    return [text.line([badge, (f" {shown}", Style(color=palette.text))], width)]


def _badge(name: str, color: str, palette: Palette) -> Piece:
    """The name of a line, on a coloured ground."""
    return f" {name} ", Style(color=palette.background, bgcolor=color, bold=True)


def _beside(badge: Piece, width: int) -> int:
    """Cells of a line of `width` cells that its badge and a space leave."""
    return width - text.cells([badge]) - 1


def _sets_load(entry: object) -> bool:
    """Whether this entry set the users or started a driver."""
    return isinstance(entry, Command) and entry.name in ("users", "rate", "new_level", "zero", "restart", "autopilot", "plan")


def alarms(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """One line for each problem: a dead target, a log that cannot be written, the end of the session."""
    style = Style(color=palette.background, bgcolor=palette.error, bold=True)
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
