"""Checks that this machine can apply `[limits]` and `--limit`. They are applied where processes are started, not here."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from .. import namespace
from ..addresses import is_loopback
from ..errors import InputError
from ..model.limits import AS_IT_IS, Limits, NetworkLimits, mistakes
from ..toml import convert, parse, shown

OPTION = "--limit"


def limits_of(given: tuple[str, ...], of_profile: Limits) -> Limits:
    """The profile's limits, overridden by each KEY=VALUE. Raises InputError: one line that names the option and the key."""
    if not given:
        return of_profile
    merged = msgspec.to_builtins(of_profile)
    for setting in given:
        _merge(merged, _as_table(setting))
    limits = convert(merged, Limits, OPTION)
    for key, expected in mistakes(limits):
        raise InputError(f"{OPTION}: {key}: {expected}")
    return limits


def _as_table(setting: str) -> dict[str, Any]:
    """KEY=VALUE as a table: it is a line of TOML, such as `target.cpus=[0]`."""
    expected = f"{OPTION}: expected KEY=VALUE such as target.open_files=64 or network.ip_local_port_range=[32768, 34767]"
    if "=" not in setting or "\n" in setting:
        raise InputError(f"{expected}, got {shown(setting)}")
    try:
        return parse(setting, OPTION)
    except InputError:
        raise InputError(f"{expected}, got {shown(setting)}") from None


def _merge(into: dict[str, Any], new: dict[str, Any]) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def check_here(limits: Limits, where: str, *, starts_target: bool, port: int | None, allow_hosts: tuple[str, ...]) -> None:
    """Checks that this machine and this run can apply the limits. Raises InputError; `where` is the file or option in messages.

    `port`: where the target listens if that cannot be chosen.
    """
    if not starts_target and limits.target != AS_IT_IS:
        raise InputError(
            f"{where}: limits.target: needs a target that capexplorer starts; a service that runs already has its own"
        )
    if limits.network != NetworkLimits():
        check_loopback_alone(f"{where}: {namespace.LIMITS}", starts_target=starts_target, allow_hosts=allow_hosts)
        _check_port(where, port, limits.network.ip_local_port_range)
    for side, own in (("target", limits.target), ("generator", limits.generator)):
        _check_open_files(f"{where}: limits.{side}.open_files", own.open_files)
        _check_cpus(f"{where}: limits.{side}.cpus", own.cpus)


def check_of_containers(limits: Limits, where: str, *, sandbox: bool) -> None:
    """Checks that a run whose target is a Compose file asks for nothing that containers do not have. Raises InputError."""
    if limits.target != AS_IT_IS:
        raise InputError(f"{where}: limits.target: not for containers, whose limits are keys of the Compose file")
    if sandbox or limits.network != NetworkLimits():
        asked_by = namespace.SANDBOX if sandbox else f"{where}: {namespace.LIMITS}"
        raise InputError(f"{asked_by}: not for containers, which docker runs outside of the session's own network namespace")


def check_loopback_alone(asked_by: str, *, starts_target: bool, allow_hosts: tuple[str, ...]) -> None:
    """Checks that this run needs no network but loopback. Raises InputError; `asked_by` is the key or option."""
    if sys.platform != "linux":
        raise InputError(f"{asked_by}: needs Linux: only Linux can give a session its own network namespace")
    only_loopback = "the session's own network namespace has only loopback"
    if not starts_target:
        raise InputError(
            f"{asked_by}: needs a target that capexplorer starts: {only_loopback} and cannot reach a service outside of it"
        )
    elsewhere = next((host for host in allow_hosts if not is_loopback(host)), None)
    if elsewhere is not None:
        raise InputError(f"{asked_by}: {only_loopback}, so load cannot go to {elsewhere}")


def _check_port(where: str, port: int | None, ephemeral: tuple[int, int] | None) -> None:
    """Checks that no client's ephemeral port can take the target's port."""
    if port is not None and ephemeral is not None and ephemeral[0] <= port <= ephemeral[1]:
        raise InputError(f"{where}: limits.network.ip_local_port_range: expected a range without the target's port, {port}")


def _check_open_files(key: str, wanted: int | None) -> None:
    if wanted is None:
        return
    if sys.platform == "win32":
        raise InputError(f"{key}: needs Linux or macOS")
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and wanted > hard and os.geteuid() != 0:
        raise InputError(f"{key}: expected at most {hard}, the hard limit here (only root may exceed it), got {wanted}")


def _check_cpus(key: str, wanted: tuple[int, ...] | None) -> None:
    if wanted is None:
        return
    if sys.platform != "linux":
        raise InputError(f"{key}: needs Linux")
    there = os.sched_getaffinity(0)
    for core in wanted:
        if core not in there:
            raise InputError(f"{key}: this machine has no core {core}; expected some of {', '.join(map(str, sorted(there)))}")
