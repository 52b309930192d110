"""`capexplorer doctor`: compares the machine's limits with a profile and prints the result; starts no load, changes nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import namespace, paths, profile
from ..addresses import is_loopback
from ..analysis.host_checks import Check, Needs, State, checks
from ..errors import InputError
from ..model.limits import Limits, limits_by_key
from ..profile import ComposeTarget, Profile, Wait
from ..read.machine import machine
from ..stacks.available import Tool, tools
from ..target.spec import load_spec
from . import shared_options
from .limiting import check_here

SCHEMA = "capexplorer.doctor/1"

_WIDE = 140
"""Terminal width in columns from which the table is readable."""

_PIPED_WIDTH = 160
"""Width in columns of output that does not go to a terminal: wide enough for the table."""

_COMMAND_WIDTH = 50
"""Width that fits the longest word of a command, so that no word is broken."""

_SHOWN: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "bounds": ("limits", "yellow"),
    "missing": ("missing", "red"),
    "unavailable": ("unknown", "dim"),
}
"""(word, colour) of each state."""


@click.command()
@click.argument("profile_name", metavar="[PROFILE]", required=False, shell_complete=shared_options.profiles)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable: docs/doctor.md.")
def command(profile_name: str | None, as_json: bool) -> None:
    """Show which limits of this machine will stop an exploration, and how to raise them.

    PROFILE (a name or a path): compare the limits with what it needs; default: 2,000 users that keep their connections.
    """
    path = paths.profile(profile_name) if profile_name else None
    found = profile.load(path) if path else None
    rows = examine(found, str(path))
    if as_json:
        name = path.stem if path else None
        click.echo(json.dumps({"schema": SCHEMA, "profile": name, "checks": [asdict(row) for row in rows]}, indent=2))
    else:
        console = Console(highlight=False)
        show(rows, console if console.is_terminal else Console(highlight=False, width=_PIPED_WIDTH))


def examine(found: Profile | None, where: str) -> tuple[Check, ...]:
    """Check this machine against a profile, or against the defaults. Raises InputError when the profile's target is wrong."""
    demands = Needs() if found is None else demands_of(found)
    here = machine(time.sleep, _programs(found, where), namespace.refusal())
    return (*checks(here, demands), stacks_check(tools()), *_limits_check(found, where))


def demands_of(found: Profile) -> Needs:
    """What a profile demands of the machine."""
    users = found.users
    return Needs(
        users=found.guards.max_users,
        keep_alive=users.keep_alive,
        wait_s=None if users.locustfile else mean_wait_s(users.wait_s),
        starts_target=found.starts_service,
        limits=found.limits,
    )


def mean_wait_s(wait: Wait | float) -> float:
    """Mean think time. For pacing the whole cycle, since that bounds a user's requests."""
    if isinstance(wait, (int, float)):
        return wait
    if wait.between is not None:
        return sum(wait.between) / 2
    rate = wait.constant_throughput or wait.poisson
    return 1 / rate if rate else wait.constant_pacing or wait.constant or 0.0


def _programs(found: Profile | None, where: str) -> list[str]:
    """Names of programs that the profile's target needs; without a profile, all targets'."""
    if found is None:
        return sorted({name for folder in paths.targets().values() for name in _needs(folder)})
    match found.target:
        case None:
            return []
        case ComposeTarget():
            return ["docker"]
        case name:
            return list(load_spec(paths.target(name, f"{where}: target")).needs)


def _needs(folder: Path) -> tuple[str, ...]:
    try:
        return load_spec(folder).needs
    except InputError:  # an unfinished target
        return ()


def stacks_check(found: Sequence[Tool]) -> Check:
    """Of which runtimes this machine can sample stacks, as key S and `--profile-at` do."""
    works, fails = ([tool for tool in found if (tool.why is None) is works] for works in (True, False))
    return Check(
        id="stacks",
        title="stacks of the target",
        state="missing" if fails else "ok",
        readings={tool.runtime: tool.why is None for tool in found},
        here=", ".join(f"{tool.runtime} by {tool.name}" for tool in works) or "none",
        bounds_at=f"no stacks of {', '.join(tool.runtime for tool in fails)}" if fails else "",
        lift="; ".join(tool.why for tool in fails if tool.why),
    )


def _limits_check(found: Profile | None, where: str) -> tuple[Check, ...]:
    """Whether this machine can apply the profile's [limits]; `run` would refuse with the same message."""
    if found is None or found.limits == Limits():
        return ()
    elsewhere = tuple(host for host in found.guards.allow_hosts if not is_loopback(host))
    refused = None
    try:
        check_here(found.limits, where, starts_target=found.starts_service, port=None, allow_hosts=elsewhere)
    except InputError as error:
        refused = str(error)
    asked = limits_by_key(found.limits)
    return (
        Check(
            id="profile_limits",
            title="the profile's [limits]",
            state="missing" if refused else "ok",
            readings=asked,
            here=", ".join(f"{key} = {value}" for key, value in asked.items()),
            bounds_at="the profile cannot run" if refused else "",
            lift=refused or "",
        ),
    )


def show(rows: tuple[Check, ...], console: Console) -> None:
    """Print a table if the console is wide enough for unbroken commands, else a block for each check. No text is markup."""
    console.print(_table(rows) if console.width >= _WIDE else _blocks(rows))


def _table(rows: tuple[Check, ...]) -> Table:
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", expand=True)
    for name in ("", "check"):
        drawn.add_column(name, no_wrap=True)
    for name in ("here", "limit reached at"):
        drawn.add_column(name, ratio=1)
    drawn.add_column("how to raise it", width=_COMMAND_WIDTH)
    for row in rows:
        drawn.add_row(Text(*_SHOWN[row.state]), Text(row.title), Text(row.here), Text(row.bounds_at), Text(row.lift))
    return drawn


def _blocks(rows: tuple[Check, ...]) -> Table:
    drawn = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for row in rows:
        lines = (
            f"{row.title}: {row.here}",
            row.bounds_at and f"limit reached at: {row.bounds_at}",
            row.lift and f"raise it: {row.lift}",
        )
        drawn.add_row(Text(*_SHOWN[row.state]), Text("\n".join(filter(None, lines))))
    return drawn
