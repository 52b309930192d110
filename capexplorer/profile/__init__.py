"""A profile: the service, the users, the plans and limits. TOML to one typed, frozen value; unknown keys are errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from .. import toml
from ..errors import InputError
from .profile_table import READY_TIMEOUT_S, ComposeTarget, Guards, MetricLimit, Profile, StopRules, Work, mistakes
from .users_table import MAX_BODY_MB, PLACEHOLDER, Task, Users, Wait, csv_column
from .values import METHODS, TITLE_MOST, WORKERS_MOST, Param

__all__ = [
    "MAX_BODY_MB", "METHODS", "PLACEHOLDER", "READY_TIMEOUT_S", "TITLE_MOST", "WORKERS_MOST", "ComposeTarget", "Guards",
    "MetricLimit", "Param", "Profile", "StopRules", "Task", "Users", "Wait", "Work", "check", "csv_column",
    "load", "plain",
]  # fmt: skip


def load(path: Path) -> Profile:
    """Read and check a profile. Raises InputError: one line with the file, the key and what was expected."""
    profile = toml.load(path, Profile)
    check(profile, str(path))
    return profile


def check(profile: Profile, where: str) -> None:
    """Check rules that the types cannot express. `where` names the file in messages. Raises InputError."""
    for key, expected in mistakes(profile, Path(where).parent):
        raise InputError(f"{where}: {key}: {expected}")


_NOT_OF_LOCUSTFILES = ("client", "keep_alive", "wait_s", "task", "values")
"""Settings of `[users]` that a locustfile's users decide themselves."""


def plain(profile: Profile, name: str, locustfile: Path | None = None) -> dict[str, Any]:
    """The profile as plain values, with its name, for the session's header.

    With a locustfile, settings that its users do not follow are left out: a header must not name an unused client.
    """
    found = {"name": name, **msgspec.to_builtins(profile)}
    if locustfile is not None:
        kept = {key: value for key, value in found["users"].items() if key not in _NOT_OF_LOCUSTFILES}
        found["users"] = {**kept, "locustfile": profile.users.locustfile or locustfile.name}
    return found
