"""A bare `capexplorer`: the picker. What is picked runs in a fresh process image: gevent must patch before anything else."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .. import paths, profile
from ..errors import InputError
from ..model.stream import SessionEntry
from ..model.timeline import Level, Timeline
from ..session.catalog import list_sessions
from ..session.reader import open_session
from ..tui.screens.picker import LevelRow, PickerApp, ProfileEntry
from ..tui.terminal import own_terminal
from .resolving import DEFAULT_PROFILE
from .signals import signals_to


def pick() -> None:
    """Show profiles and sessions; run the profile that is chosen. Does not return when one is."""
    with own_terminal() as terminal:
        app = PickerApp(_profiles(), list_sessions(paths.sessions()), _summary, default=DEFAULT_PROFILE, terminal=terminal)
        with signals_to(app.request_exit):
            picked = app.pick()
    if picked is not None:
        os.execv(sys.executable, [sys.executable, "-m", "capexplorer", "run", picked.name])


def _profiles() -> list[ProfileEntry]:
    entries = []
    for name, path in paths.profiles().items():
        try:
            found = profile.load(path)
        except InputError as error:
            entries.append(ProfileEntry(name=name, problem=str(error)))
        else:
            entries.append(ProfileEntry(name=name, title=found.title, target=found.target or found.url or ""))
    return entries


def _summary(entry: SessionEntry) -> Sequence[LevelRow]:
    with open_session(entry.path) as log:
        return [_row(level) for level in Timeline(log).levels]


def _row(level: Level) -> LevelRow:
    figures = level.figures
    return LevelRow(
        index=level.opened.index,
        users=level.users,
        epoch=level.opened.epoch,
        settled_for_s=figures.settled_seconds if figures.settled else None,
        requests=figures.requests,
        goodput_rps=figures.goodput_rps,
        goodput_se_rps=figures.goodput_se_rps,
        p50_ms=figures.latency_ms.p50,
        p95_ms=figures.latency_ms.p95,
        p99_ms=figures.latency_ms.p99,
        failure_ratio=figures.failure_ratio,
        target_cpu_ratio=figures.target_cpu_ratio,
    )
