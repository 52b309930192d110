"""`capexplorer` without a command: the picker, a list of profiles and sessions. The choice runs in a fresh process image, since
gevent must patch before anything else is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .. import paths, profile
from ..errors import InputError
from ..tui.picker_app import PickerApp
from ..tui.screens.profiles import ProfileEntry
from ..tui.terminal import own_terminal
from .configured_habits import own_habits
from .resolving import DEFAULT_PROFILE
from .shelf import SessionShelf
from .signals import signals_to
from .terminals import require_screen


def pick(folder: Path | None = None) -> None:
    """Show profiles and sessions; run the profile or replay the session that is chosen. Does not return when one is."""
    require_screen("the picker", "capexplorer profiles, sessions or --help")
    habits = own_habits()
    with own_terminal() as terminal:
        shelf = SessionShelf(folder or paths.sessions())
        app = PickerApp(_profiles(), shelf, default=DEFAULT_PROFILE, terminal=terminal, habits=habits)
        with signals_to(app.request_exit):
            picked = app.pick()
    if picked is None:
        return
    args = ["run", picked.path] if isinstance(picked, ProfileEntry) else ["replay", str(picked.path)]
    args += ["--sessions-dir", str(folder)] if folder is not None else []
    os.execv(sys.executable, [sys.executable, "-m", "capexplorer", *args])


def _profiles() -> list[ProfileEntry]:
    entries = []
    for name, path in paths.profiles().items():
        try:
            found = profile.load(path)
        except InputError as error:
            entries.append(ProfileEntry(name=name, path=str(path), problem=str(error)))
        else:
            target = found.service
            entries.append(ProfileEntry(name=name, path=str(path), title=found.title, target=target))
    return entries
