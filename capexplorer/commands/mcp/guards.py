"""What a tool call may do: set by the person who started the server, not by the agent."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ... import paths, profile
from ...addresses import is_loopback
from ...errors import InputError
from ...profile import Profile
from ...session.catalog import find
from ...toml import nearest


class Guards(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one server."""

    folders: tuple[Path, ...]
    """Whose profiles may run, and those below; resolved."""
    sessions: tuple[Path, ...]
    """The folders in which sessions are looked up; runs are saved in the first."""
    allow_hosts: tuple[str, ...]
    allow_commands: bool
    max_users: int
    max_seconds: float
    runs: int
    """Most runs at a time."""

    def profiles(self) -> dict[str, Path]:
        """Profiles by name: those of the folders, then the samples."""
        return paths.profiles(self.folders)

    def profile(self, name: str) -> tuple[Path, Profile]:
        """A profile by name, or by its path below one of the folders. Raises InputError: another one, or one that sends load to
        hosts that are not allowed.
        """
        known = self.profiles()
        if name not in known and not name.endswith(".toml"):
            raise InputError(f"no profile `{name[:60]}`; {nearest(name, known)}")
        beside = (path for folder in self.folders if (path := folder / name).is_file())
        path = (known[name] if name in known else next(beside, self.folders[0] / name)).resolve()
        if not any(path.is_relative_to(folder) for folder in (*self.folders, paths.sample_profiles())):
            raise InputError(f"{name[:200]}: expected a profile below {', '.join(map(str, self.folders))} (--folder)")
        found = profile.load(path)
        for host in found.guards.allow_hosts:
            if not is_loopback(host) and host.lower() not in {each.lower() for each in self.allow_hosts}:
                raise InputError(f"{path}: guards.allow_hosts: {host} is not allowed here (--allow-host {host})")
        return path, found

    def session(self, name: str) -> Path:
        """A saved session by id, title or `last`, or a sample. Raises SessionError; InputError: a file elsewhere."""
        if "/" in name or name.endswith(".jsonl"):
            raise InputError(f"session: expected an id of `sessions`, not a path: {name[:60]}")
        return find(name, self.sessions)
