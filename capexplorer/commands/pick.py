"""`capexplorer` without a command: the picker, a list of profiles and sessions. The choice runs in a fresh process image, since
gevent must patch before anything else is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import paths, profile
from ..errors import InputError
from ..model.session_entry import SessionEntry
from ..remote import run_sockets
from ..tui.picker_app import PickerApp
from ..tui.screens.profiles import ProfileEntry
from ..tui.terminal import own_terminal
from .configured_preferences import own_preferences
from .error_output import signals_to
from .run_profile import DEFAULT_PROFILE
from .session_folder import SessionFolder
from .terminals import require_screen


def pick(folder: Path | None = None, *, mouse: bool = False) -> None:
    """Show profiles and sessions; run the profile, attach to the running session or replay the saved one that is chosen. Does not
    return when one is.
    """
    require_screen("the picker", "capexplorer profiles, sessions or --help")
    preferences = own_preferences()
    with own_terminal() as terminal:
        saved_sessions = SessionFolder(folder or paths.sessions())
        profiles = _profiles()
        app = PickerApp(
            profiles, saved_sessions, default=selected(profiles), terminal=terminal, mouse=mouse, preferences=preferences
        )
        with signals_to(app.request_exit):
            picked = app.pick()
    if picked is None:
        return
    os.execv(
        sys.executable,
        [sys.executable, "-P", "-m", "capexplorer", *arguments_for(picked, folder), *(["--mouse"] if mouse else [])],
    )


def arguments_for(picked: ProfileEntry | SessionEntry, folder: Path | None) -> list[str]:
    """The command that opens what was picked, with its arguments."""
    in_folder = ["--sessions-dir", str(folder)] if folder is not None else []
    if isinstance(picked, ProfileEntry):
        return ["run", picked.path, *in_folder]
    if not picked.complete and picked.id in run_sockets.running():
        return ["attach", picked.id]
    return ["replay", str(picked.path), *in_folder]


def selected(profiles: Sequence[ProfileEntry]) -> str:
    """The name of the profile that is selected at first: the folder's own, the last one that was changed; else the usual one."""
    own = [each for each in profiles if not each.sample and each.problem is None]
    return max(own, key=lambda each: os.stat(each.path).st_mtime).name if own else DEFAULT_PROFILE


def _profiles() -> list[ProfileEntry]:
    """Those of the working folder, then the samples."""
    entries, samples = [], paths.sample_profiles()
    for name, path in paths.profiles().items():
        sample = path.parent == samples
        try:
            found = profile.load(path)
        except InputError as error:
            entries.append(ProfileEntry(name=name, path=str(path), sample=sample, problem=str(error)))
        else:
            target = found.service
            entries.append(ProfileEntry(name=name, path=str(path), title=found.title, target=target, sample=sample))
    return sorted(entries, key=lambda each: each.sample)
