"""`capexplorer` without a command: the picker, a list of profiles and sessions. The choice runs in a fresh process image, since
gevent must patch before anything else is imported."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from .. import paths, profile
from ..errors import InputError
from ..model.level import Level
from ..model.sources import SessionEntry
from ..model.timeline import Timeline
from ..remote import run_sockets
from ..report.compare import Comparison, compare
from ..report.formats import FORMATS
from ..session import catalog, files
from ..session.beside import digest_of, kept_digest
from ..session.catalog import list_sessions
from ..session.reader import open_session
from ..tui.picker_app import PickerApp
from ..tui.screens.sessions import ProfileEntry, SessionRow
from ..tui.terminal import own_terminal
from .compare import read
from .configured_preferences import own_preferences
from .run.profile import DEFAULT_PROFILE
from .sessions import judged
from .terminal import require_screen, signals_to


class SessionFolders:
    """The sessions of folders (`paths.sessions`)."""

    def __init__(self, folders: Sequence[Path], own_profiles: Collection[str] = ()) -> None:
        """`own_profiles`: the names of the working folder's."""
        self._folders, self._own_profiles = folders, own_profiles

    @property
    def where(self) -> str:
        """The folders in a line of text."""
        return paths.listed(self._folders)

    @property
    def formats(self) -> Mapping[str, str]:
        """The formats of `capexplorer export`, each with a description."""
        return {name: each.description for name, each in FORMATS.items()}

    def rows(self) -> list[SessionRow]:
        """All sessions, newest first; best goodput and marks only if they are already cached. Raises SessionError for a
        folder.
        """
        own = self._own_profiles
        return [row_of(entry, of_own_profile=entry.profile in own) for entry in list_sessions(self._folders)]

    def search(self, stopped: Callable[[], bool]) -> bool:
        """Compute missing verdicts, best goodputs and marks; returns whether any were missing. Raises SessionError. `stopped` is
        called before each log: it takes up to a second, and there may be thousands.
        """
        missing = [entry for entry in list_sessions(self._folders) if entry.problem is None and _missing(entry)]
        for entry in missing:
            if stopped():
                break
            with contextlib.suppress(OSError):
                digest_of(entry.path, judged)
        return bool(missing)

    def levels(self, entry: SessionEntry) -> list[Level]:
        """The levels of a session. Raises SessionError."""
        with open_session(entry.path) as log:
            return Timeline(log).levels

    def rename(self, entry: SessionEntry, title: str) -> None:
        """Give a session a title. Raises SessionError."""
        files.write_title(entry.path, title)

    def delete(self, entry: SessionEntry) -> None:
        """Delete a session with the files that belong to it. Raises SessionError."""
        catalog.delete(entry.path)

    def compare(self, entries: Sequence[SessionEntry]) -> Comparison:
        """Compare sessions; the first is the baseline. Raises SessionError, InputError."""
        return compare([read(entry.path)[0] for entry in entries])

    def export(self, entry: SessionEntry, form: str) -> str:
        """Export to the working folder by running the command. Raises InputError with the command's last line."""
        output = Path(f"{entry.id}{FORMATS[form].suffix or f'-{form}'}")
        command = [sys.executable, "-P", "-m", "capexplorer", "export", str(entry.path), "--format", form, "-o", str(output)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InputError((done.stderr.strip().splitlines() or ["the export failed"])[-1])
        return str(output.resolve())


def row_of(entry: SessionEntry, *, of_own_profile: bool = False) -> SessionRow:
    """The list row of a session with its title, verdict, best goodput and marks, which are unknown if it cannot be opened."""
    if entry.problem is not None:
        return SessionRow(entry=entry, title=files.read_title(entry.path), of_own_profile=of_own_profile)
    try:
        found = kept_digest(entry.path)
    except OSError:
        return SessionRow(entry=entry, of_own_profile=of_own_profile)
    return SessionRow(
        entry=entry,
        title=files.read_title(entry.path),
        best_goodput_rps=found.best_goodput_rps if found else None,
        marks=found.marks if found else None,
        verdict=found.verdict if found else None,
        knee_users=found.knee_users if found else None,
        recording=catalog.being_recorded(entry.path, complete=entry.complete),
        of_own_profile=of_own_profile,
    )


def _missing(entry: SessionEntry) -> bool:
    try:
        return kept_digest(entry.path) is None
    except OSError:
        return False


def pick(folder: Path | None = None, *, mouse: bool = False) -> None:
    """Show profiles and sessions; run the profile, attach to the running session or replay the saved one that is chosen. Does not
    return when one is.
    """
    require_screen("the picker", "capexplorer profiles, sessions or --help")
    preferences = own_preferences()
    with own_terminal() as terminal:
        profiles = _profiles()
        saved_sessions = SessionFolders(paths.sessions(folder), {each.name for each in profiles if not each.sample})
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
