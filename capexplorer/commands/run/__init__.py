"""`capexplorer run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from ...errors import InputError
from ...model.load import Arrivals
from .. import shared_options
from ..shared_options import LocalFile
from .arguments import RunArguments, ScreenOptions
from .exploring import explore
from .resolving import resolve

# -- run -----------------------------------------------------------------------------------------------------------------------
# `capexplorer run`.


AUTOPILOT_LOADS = ("users", "rate")
"""The kinds of load that the autopilot may step; the first is the default."""


class Run(click.Command):
    """What follows `--` is for the locustfile. `--autopilot` needs no value: the next argument is its value only if it is `users`
    or `rate`, else it is the profile.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take away what follows `--`; join `--autopilot` and its value into one argument."""
        end = args.index("--") if "--" in args else len(args)
        whole, ctx.params["locust_arguments"] = args[:end], tuple(args[end + 1 :])
        if "--autopilot" in whole:
            at = whole.index("--autopilot")
            load = whole.pop(at + 1) if whole[at + 1 : at + 2] and whole[at + 1] in AUTOPILOT_LOADS else AUTOPILOT_LOADS[0]
            whole[at] = f"--autopilot={load}"
        return super().parse_args(ctx, whole)


@click.command(cls=Run)
@click.argument("profile", required=False, shell_complete=shared_options.profiles)
@click.option("-f", "--locustfile", type=LocalFile(), help="A Locust file; it needs no change.")
@click.option("--host", metavar="URL", help="URL of a running service; no target is started.")
@click.option(
    "--request",
    "requests",
    multiple=True,
    metavar="REQUEST",
    help="In place of a profile, what users request: /PATH, METHOD /PATH [BODY], a curl command, or a file of them (HAR,"
    " OpenAPI). Repeatable.",
)
@click.option(
    "--values",
    multiple=True,
    metavar="NAME=VALUES",
    help="With --request: what {{NAME}} in it stands for, another one for each request: A,B,C or FILE.csv[:COLUMN].",
)
@click.option("--pid", type=click.IntRange(min=1), help="With --host: the id of the process to watch.")
@click.option(
    "--port-of", type=click.IntRange(1, 65535), metavar="PORT", help=("With --host: watch the process that listens on this port.")
)
@click.option(
    "--watch",
    "watches",
    multiple=True,
    metavar="NAME=TRANSPORT[:SELECTOR]",
    help='Also watch this part, here or elsewhere: "db=ssh db1:port 5432". TRANSPORT: here, ssh HOST, docker exec -i NAME,'
    " any command that gives a shell; SELECTOR: pid N, port N, cgroup PATH, container NAME, unit NAME. A server's own figures"
    ' follow: "db=here:port 5432 postgres=URL" (or redis=, nginx=, statsd=, prometheus=URL metrics=A,B).',
)
@click.option("--target-cmd", metavar="COMMAND", help='A command that starts the target, e.g. "./server --port {port}".')
@click.option(
    "--compose",
    type=LocalFile(),
    metavar="FILE",
    help="A Compose file whose services are started, watched and removed; ${CAPEXPLORER_PORT} in it is a free port.",
)
@click.option(
    "--ready",
    metavar="URL",
    help="With --target-cmd or --compose: /PATH or URL that answers with 2xx or 3xx when the target is ready.",
)
@click.option(
    "--ready-timeout",
    "ready_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --target-cmd or --compose: seconds until the target must be ready, including compilation; default: 120.",
)
@click.option("--users", type=click.IntRange(min=0), help="Number of users at the start.")
@click.option("--spawn-rate", type=float, help="Users started per second; default: each step takes 1 s.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the target (`capexplorer targets`), of the profile's `params`, or a {KEY} of --target-cmd.",
)
@click.option(
    "--limit", "limits", multiple=True, metavar="KEY=VALUE", help="Override the profile's [limits], e.g. target.open_files=64."
)
@click.option("--label", help="Label stored in the session; default: the git commit of the target's folder.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), help="Folder in which the session is saved.")
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="HOST",
    help="A host other than loopback that may receive load: an address, or a name and the addresses it resolves to. To others,"
    " connections of Python's sockets are refused; ctypes, libraries in C and child processes are not checked.",
)
@click.option(
    "--sandbox",
    is_flag=True,
    help="Run load and target in a network that has only loopback, for a locustfile that you do not trust. Files are not"
    " protected. Linux, with user namespaces.",
)
@click.option("--baseline", metavar="SESSION", help="Draw the curve of this saved session behind the live one (key b).")
@click.option("--mouse", is_flag=True, help="Keys, tabs, lists and charts can be clicked; selecting text then needs Shift.")
@click.option(
    "--headless",
    is_flag=True,
    help="Without a screen: needs --plan, --autopilot or a locustfile with a shape; prints the session's path.",
)
@click.option(
    "--detach",
    is_flag=True,
    help="In the background, without a screen: prints the session's id when the target is ready. `capexplorer attach` shows it.",
)
@click.option("--plan", metavar="PLAN", help='Name of a plan in the profile, or the text of a plan: "10:30s,50:30s,100:30s".')
@click.option(
    "--arrivals",
    type=click.Choice(get_args(Arrivals)),
    help="How iterations of an offered rate arrive: at random, or evenly; default: the profile's `[users] arrivals`.",
)
@click.option(
    "--workers",
    metavar="N|auto",
    help="Run users in N worker processes instead of this one; auto: one less than there are cores, at least 1.",
)
@click.option("--bind", metavar="ADDRESS:PORT", help="Where workers of other machines join (`capexplorer worker`).")
@click.option(
    "--expect-workers", type=click.IntRange(min=1), metavar="N", help="With --bind: wait for N workers before the load."
)
@click.option(
    "--plain-workers",
    is_flag=True,
    help="With --bind: `locust --worker` may join. There is no secret: any client that reaches the port may join.",
)
@click.option(
    "--keep-bodies",
    is_flag=True,
    help="At the end, write a bounded sample of whole requests next to the log (ID.requests, without secrets, mode 0600);"
    " replay shows it.",
)
@click.option(
    "--autopilot",
    type=click.Choice(AUTOPILOT_LOADS),
    metavar="[users|rate]",
    help="Start the autopilot: it finds and verifies the knee; `rate`: it finds the capacity as an offered rate.",
)
def command(baseline: str | None, mouse: bool, headless: bool, detach: bool, **given: Any) -> int:
    """Explore a service on the live screen, or without a screen by a plan or the autopilot.

    PROFILE is a name (see `capexplorer profiles`), a path, or the URL of a running service: `run http://127.0.0.1:8000/items`
    requests that URL. Default: what this folder has, a locustfile.py or a profile, else the sample `mixed`.

    Arguments after `--` are for the locustfile: `run -f FILE --host URL -- --my-option VALUE WebUser`.

    A closed terminal or a lost SSH connection ends the screen, not the run: a plan or the autopilot continues to its end, load
    by hand for [guards] unattended_s (300 s). `capexplorer attach` shows the run again.

    SIGINT, SIGTERM and SIGQUIT end a run and save its session; SIGHUP ends a run without a screen. A signal that is ignored
    when the run starts stays ignored: nohup ignores SIGHUP, a script's background job SIGINT and SIGQUIT.
    """
    if headless and detach:
        raise InputError("--headless, --detach: one of them; --detach needs no screen either")
    arguments = RunArguments(**given)  # it has a field for each other option
    return explore(resolve(arguments), ScreenOptions(baseline, mouse), headless=headless, detach=detach)
