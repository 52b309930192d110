"""The target that a run starts: of the command line, else of the profile; none if the service runs already."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec

from .. import paths
from ..errors import InputError
from ..model.param import Param
from ..profile import Profile
from ..target import scratch
from ..target.spec import TargetSpec, load_spec
from . import adhoc
from .run_arguments import RunArguments


def target_to_start(asked: RunArguments, found: Profile, where: str, sessions_dir: Path) -> tuple[TargetSpec | None, int | None]:
    """(target to start, and its port if the command line fixes it)."""
    _check_one_service(asked)
    if asked.host is not None:
        return None, None
    port = None
    if asked.compose is not None:
        spec, port = adhoc.composed(str(asked.compose), asked.ready, asked.ready_timeout_s, adhoc.compose_on_command_line())
    elif asked.target_cmd is not None:
        params = _params_of_command(asked.target_cmd, asked.settings, found)
        spec, port = adhoc.target_of(asked.target_cmd, asked.ready, asked.ready_timeout_s, params=params)
    elif asked.ready is not None or asked.ready_timeout_s is not None:
        option = "--ready" if asked.ready is not None else "--ready-timeout"
        raise InputError(f"{option}: needs --target-cmd or --compose")
    elif found.command is not None:
        spec, port = adhoc.target_of(found.command, found.ready, found.ready_timeout_s, adhoc.in_profile(where), found.params)
    elif found.compose is not None:
        spec, port = adhoc.composed(found.compose, found.ready, found.ready_timeout_s, adhoc.compose_in_profile(where))
    elif isinstance(found.target, str):
        spec = load_spec(paths.target(found.target, f"{where}: target"))
    elif asked.profile is not None and found.url is None:
        raise InputError(
            f"{where}: expected `command`, `url` or `target`, or --target-cmd COMMAND, --compose FILE or --host URL beside the"
            " profile"
        )
    else:
        return None, None
    if asked.pid is not None or asked.port_of is not None:
        raise InputError("--pid and --port-of: need --host; a target that capexplorer starts is always watched")
    return msgspec.structs.replace(spec, scratch=scratch.folder_in(sessions_dir)), port


def _params_of_command(command: str, settings: tuple[str, ...], found: Profile) -> dict[str, Param]:
    """Parameters of `--target-cmd`: those of the profile and of `--set` for which the command has a placeholder."""
    given = {**dict(setting.partition("=")[::2] for setting in settings), **found.params}
    return {name: value for name, value in given.items() if f"{{{name}}}" in command}


def _check_one_service(asked: RunArguments) -> None:
    for option, value in (("--target-cmd", asked.target_cmd), ("--compose", asked.compose)):
        if value is not None and asked.host is not None:
            raise InputError(f"{option}: cannot be combined with --host, which names a running service")
    if asked.target_cmd is not None and asked.compose is not None:
        raise InputError("--compose: cannot be combined with --target-cmd: both start the target")


def commit_of(spec: TargetSpec | None) -> str | None:
    """The git commit of the target's folder; None when it has none, or there is no git."""
    if spec is None:
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(spec.folder), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
