"""Profiles that can be run, as lines of a list. Pure; `picker` shows them."""

from __future__ import annotations

import msgspec

from ..render.text import pad, safe, shorten_end

NAME_CELLS, TITLE_CELLS, TARGET_CELLS = 20, 24, 10
"""Least widths of the columns in cells; on a wide screen titles and targets are wider."""


class ProfileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that can be run."""

    name: str
    path: str = ""
    """Its file."""
    title: str = ""
    target: str = ""
    """The target's name, or the address of a service that runs already."""
    sample: bool = False
    """Whether it comes with capexplorer."""
    problem: str | None = None
    """Why it cannot be run, in one line."""


def profile_line(profile: ProfileEntry, width: int) -> str:
    """Name, title and target in `width` cells, shortened if needed; for a profile that cannot be run, its name and the reason."""
    name = f"  {pad(safe(profile.name), NAME_CELLS)} "
    if profile.problem:
        return name + shorten_end(f"! cannot run: {safe(profile.problem)}", max(width - len(name), TITLE_CELLS))
    target = max(width // 6 - 3, TARGET_CELLS)
    title = max(width - len(name) - target - 1, TITLE_CELLS)
    return f"{name}{pad(shorten_end(safe(profile.title), title), title)} {pad(safe(profile.target), target)}".rstrip()


def profile_detail(profile: ProfileEntry) -> tuple[list[str], str]:
    """([title, name, target], path of its file or the reason why it cannot be run), in full."""
    against = f"target {profile.target}" if profile.target else ""
    named = [each for each in (profile.title or profile.name, f"profile {profile.name}", against) if each]
    return named, f"cannot be run: {profile.problem}" if profile.problem else profile.path
