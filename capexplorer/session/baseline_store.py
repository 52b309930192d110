"""A folder of sessions that later runs are compared with: `PROFILE/ID.jsonl`. It may be a cache, or the checkout of a branch.

Only files that can be read as sessions of the profile are used or removed; others are left alone.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from ..errors import LogWriteError, SessionError
from ..model.events import Header
from ..paths import PRIVATE_FOLDER
from . import files
from .reader import open_session

KEPT = 10
"""Sessions of a profile, the newest: hosted runners have about five kinds of CPU, of which each run gets one."""


class _Stored(msgspec.Struct, frozen=True):
    path: Path
    header: Header

    def is_like(self, header: Header) -> bool:
        """Whether both were recorded in the same environment."""
        return environment(self.header) == environment(header)

    @property
    def age(self) -> tuple[float, str]:
        """To sort by: the newest is the greatest."""
        try:
            return datetime.fromisoformat(self.header.started_at).timestamp(), self.header.id
        except ValueError:  # an imported session may have none
            return 0.0, self.header.id


class BaselineStore(msgspec.Struct, frozen=True):
    """The store in a folder, which need not exist yet."""

    folder: Path

    def latest(self, header: Header) -> Path | None:
        """The newest session of the same profile and environment, without this one; None: there is none."""
        return next((each.path for each in self._stored(header)[0] if each.is_like(header)), None)

    def why_none(self, header: Header) -> str:
        """Why there is no latest one."""
        stored, _ = self._stored(header)
        if not stored:
            return f"no baseline of {header.profile_name} yet"
        known = ", ".join(sorted({" ".join(map(str, filter(None, environment(each.header)))) for each in stored}))
        return f"no baseline of {header.profile_name} on this kind of machine, but on {known}"

    def left_alone(self, header: Header) -> str:
        """A note on files that are no baselines of the profile, in one line; empty: there are none."""
        _, foreign = self._stored(header)
        if not foreign:
            return ""
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        return f"{foreign[0]}{more}: not a session of {header.profile_name}: left alone"

    def keep(self, log: Path) -> Path:
        """Copy a complete log into the store. Sessions with its label and environment, and those beyond the KEPT newest, are
        removed. Raises LogWriteError.
        """
        with open_session(log) as session:
            header = session.header
        path = self._of(header) / log.name
        try:
            path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            files.write_whole(path, log.read_bytes())
            stored, _ = self._stored(header)
            for place, each in enumerate(stored, start=1):
                if place >= KEPT or (header.label and each.header.label == header.label and each.is_like(header)):
                    each.path.unlink(missing_ok=True)
        except OSError as error:
            raise LogWriteError(f"{path}: the baseline cannot be kept: {error.strerror or error}") from None
        return path

    def _of(self, header: Header) -> Path:
        return self.folder / files.slug(header.profile_name)

    def _stored(self, header: Header) -> tuple[list[_Stored], list[Path]]:
        """The profile's sessions, the newest first, without the one of this header; and other files."""
        folder, stored, foreign = self._of(header), list[_Stored](), list[Path]()
        for path in sorted(folder.glob("[!.]*")):
            try:
                with open_session(path) as session:
                    found = session.header
            except SessionError:
                found = None
            if found is None or found.profile_name != header.profile_name:
                foreign.append(path)
            elif found.id != header.id:
                stored.append(_Stored(path, found))
        return sorted(stored, key=lambda each: each.age, reverse=True), foreign


def environment(header: Header) -> tuple[object, ...]:
    """What must be equal for a comparison: the kind of machine, whatever its name, and how load is made."""
    host, engine = header.host, header.engine
    return host.system, host.cpu_model, host.cpus, host.cgroup_cpus, engine.mode, engine.workers
