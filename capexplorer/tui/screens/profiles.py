"""Profiles that can be run, as lines of a list. Pure; `picker` shows them and says which was picked."""

from __future__ import annotations

import msgspec

from ..render.text import pad, safe


class ProfileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that can be run."""

    name: str
    title: str = ""
    target: str = ""
    """The target's name, or the address of a service that runs already."""
    problem: str | None = None
    """Why it cannot be run, in one line."""


def profile_line(profile: ProfileEntry) -> str:
    """Name, title, target; what is wrong with it."""
    line = f"  {pad(safe(profile.name), 16)} {pad(safe(profile.title), 32)} {pad(safe(profile.target), 24)}"
    return f"{line.rstrip()}  ! cannot be run" if profile.problem else line.rstrip()
