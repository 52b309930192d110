"""Where a session that is a sweep has its settings: each restart with other parameters began an epoch."""

from __future__ import annotations

from ..model.events import Command, Target
from ..model.sweep import Params, SettingEnd
from ..model.timeline import Timeline


def begun(timeline: Timeline) -> dict[int, int]:
    """The latest epoch of each setting that the target was started with, by the index of the setting in the sweep. Empty if the
    session is no sweep.
    """
    found: dict[int, int] = {}
    for entry in timeline.journal if timeline.sweep is not None else ():
        if isinstance(entry, Target) and entry.state in ("building", "starting"):
            index = index_of(timeline, entry.params)
            if index is not None:
                found[index] = entry.epoch
    return found


def index_of(timeline: Timeline, params: Params) -> int | None:
    """The index of the setting that these parameters of the target have; None: of none."""
    settings = timeline.sweep.settings if timeline.sweep is not None else ()
    return next((index for index, each in enumerate(settings) if each.items() <= params.items()), None)


def end_of(timeline: Timeline, epoch: int) -> tuple[SettingEnd | None, str]:
    """How the search in an epoch ended, and why; None: it has not."""
    now, found = 0, dict[int, tuple[SettingEnd | None, str]]()
    for entry in timeline.journal:
        match entry:
            case Target(state="died" | "failed"):
                found[entry.epoch] = "failed", entry.reason or entry.signal or f"exit code {entry.exit_code}"
            case Target():
                now = entry.epoch
            case Command(name="autopilot", args={"on": True}):
                found[now] = None, ""
            case Command(name="autopilot") if found.get(now, (None, ""))[0] != "failed":
                found[now] = _search_end(entry)
    return found.get(epoch, (None, ""))


def _search_end(command: Command) -> tuple[SettingEnd | None, str]:
    if command.by == "user":
        return "budget", ""
    match command.args:
        case {"end": "done"}:
            return "done", ""
        case {"end": "gave_up"}:
            return "gave_up", str(command.args.get("why", ""))
        case {"who": "guard"}:
            return "stop_rule", ""
    return "taken_over", ""
