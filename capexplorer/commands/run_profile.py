"""The profile of a run: the one that the command line names, or a default one for a locustfile or a target without a profile."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from .. import paths, profile
from ..profile import Profile, Task, Users, Wait
from . import adhoc
from .run_arguments import RunArguments

DEFAULT_PROFILE = "mixed"


def profile_of(asked: RunArguments) -> tuple[str, Profile, str]:
    """(name, profile, file). `asked` without a profile gets a default one for its locustfile, `--target-cmd`
    or Compose file, or else DEFAULT_PROFILE. `file`: what messages about the profile name as its source.
    """
    if asked.profile is None and asked.locustfile is None and asked.target_cmd is not None:
        spec, _ = adhoc.target_of(asked.target_cmd, asked.ready)
        return _file_name(spec.name, "command"), _one_request(asked.target_cmd, spec.ready.path), "--target-cmd"
    if asked.profile is None and asked.locustfile is None and asked.compose is not None:
        request = _one_request(str(asked.compose), urlsplit(asked.ready or "").path or "/")
        return _file_name(asked.compose.resolve().parent.name, "compose"), request, "--compose"
    if asked.profile is None and asked.locustfile is not None:
        placeholder = Users(task=(Task(name="/"),))
        title = f"locustfile {asked.locustfile.name}"
        return asked.locustfile.stem, Profile(title=title, users=placeholder), str(asked.locustfile)
    path = paths.profile(asked.profile or DEFAULT_PROFILE)
    return path.stem, profile.load(path), str(path)


def _one_request(title: str, path: str) -> Profile:
    """The profile of a service that only the command line names: one request."""
    return Profile(title=title, users=Users(task=(Task(name=path),), wait_s=Wait(between=(0.1, 0.5))))


def _file_name(text: str, otherwise: str) -> str:
    return re.sub(r"\W+", "-", text).strip("-") or otherwise
