"""`capexplorer run`."""

from __future__ import annotations

from pathlib import Path

import click

from ..commands.exploring import explore
from ..commands.resolving import Asked, resolve


@click.command()
@click.argument("profile", required=False)
@click.option("-f", "--locustfile", type=click.Path(path_type=Path), help="Any Locust file, unchanged.")
@click.option("--host", metavar="URL", help="A service that runs already; nothing is started.")
@click.option("--pid", type=click.IntRange(min=1), help="Beside --host: the process to watch.")
@click.option("--port-of", type=click.IntRange(1, 65535), metavar="PORT", help="Beside --host: watch who listens on this port.")
@click.option("--target-cmd", metavar="COMMAND", help='Any command as the target: "./server --port {port}".')
@click.option("--ready", metavar="URL", help="Of --target-cmd: answers with 2xx or 3xx when it is ready; /PATH or a URL.")
@click.option(
    "--ready-timeout",
    "ready_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Of --target-cmd: how long it may take until it is ready, compiling included; 120 without it.",
)
@click.option("--users", type=click.IntRange(min=0), help="Users at the start.")
@click.option("--spawn-rate", type=float, help="Users a second; without it the difference in 1 s.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter of the target (see `targets`).")
@click.option(
    "--limit", "limits", multiple=True, metavar="KEY=VALUE", help="In place of the profile's [limits]: target.open_files=64."
)
@click.option("--label", help="Told in the session; without it the git commit of the target's folder.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), help="Where the session is saved.")
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="HOST",
    help="A host beside loopback that load may go to: a name, with the addresses it resolves to, or an address. Without it,"
    " connections of Python's sockets to other addresses are refused; ctypes, libraries in C and child processes are not seen.",
)
@click.option(
    "--sandbox",
    is_flag=True,
    help="Load and target run in a network that has loopback alone: for a locustfile whose connections you do not trust."
    " Files are not guarded. Linux, with user namespaces.",
)
@click.option(
    "--headless",
    is_flag=True,
    help="No screen: needs --plan, --autopilot or a locustfile with a shape; prints the session's path.",
)
@click.option("--plan", metavar="PLAN", help='A plan of the profile, or one outright: "10:30s,50:30s,100:30s".')
@click.option("--autopilot", is_flag=True, help="Let the autopilot look for the knee, from the start.")
def command(
    profile: str | None,
    locustfile: Path | None,
    host: str | None,
    pid: int | None,
    port_of: int | None,
    target_cmd: str | None,
    ready: str | None,
    ready_timeout_s: float | None,
    users: int | None,
    spawn_rate: float | None,
    settings: tuple[str, ...],
    limits: tuple[str, ...],
    label: str | None,
    sessions_dir: Path | None,
    allow_hosts: tuple[str, ...],
    sandbox: bool,
    headless: bool,
    plan: str | None,
    autopilot: bool,
) -> int:
    """Explore a service live, or by a plan or the autopilot without a screen.

    PROFILE is a name (see `capexplorer profiles`) or a path; `mixed` when neither it nor a locustfile is given.

    SIGINT, SIGTERM, SIGHUP and SIGQUIT end a run and save its session. One that is ignored when it starts stays ignored (nohup; a
    script's job in the background ignores SIGINT and SIGQUIT): then SIGTERM ends it.
    """
    asked = Asked(
        profile=profile,
        locustfile=locustfile,
        host=host,
        pid=pid,
        port_of=port_of,
        target_cmd=target_cmd,
        ready=ready,
        ready_timeout_s=ready_timeout_s,
        users=users,
        spawn_rate=spawn_rate,
        settings=settings,
        limits=limits,
        label=label,
        sessions_dir=sessions_dir,
        allow_hosts=allow_hosts,
        sandbox=sandbox,
        plan=plan,
        autopilot=autopilot,
    )
    return explore(resolve(asked), headless=headless)
