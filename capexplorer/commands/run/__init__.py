"""`capexplorer run`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from ...errors import InputError
from ...read.procfs import read_once
from ..shared_options import parameters
from .arguments import AUTOPILOT_LOADS, RunArguments
from .exploring import explore
from .resolving import resolve


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


@click.command(cls=Run, params=parameters(RunArguments))
def command(**given: Any) -> int:
    """Explore a service on the live screen, or without a screen by a plan or the autopilot.

    PROFILE is a name (see `capexplorer profiles`), a path, or the URL of a running service: `run http://127.0.0.1:8000/items`
    requests that URL. Default: what this folder has, a locustfile.py or a profile, else the sample `sleepers`.

    Arguments after `--` are for the locustfile: `run -f FILE --host URL -- --my-option VALUE WebUser`.

    A closed terminal or a lost SSH connection ends the screen, not the run: a plan or the autopilot continues to its end, load
    by hand for [guards] unattended_s (300 s). `capexplorer attach` shows the run again.

    SIGINT, SIGTERM and SIGQUIT end a run and save its session; SIGHUP ends a run without a screen. A signal that is ignored
    when the run starts stays ignored: nohup ignores SIGHUP, a script's background job SIGINT and SIGQUIT.
    """
    asked = RunArguments(**given)
    if asked.headless and asked.detach:
        raise InputError("--headless, --detach: one of them; --detach needs no screen either")
    if asked.detach and _ends_with_its_container():
        raise InputError(
            "--detach: this is the process that a container runs, which would end with it: start the container in the background"
            " instead (docker run -d -it), and `capexplorer attach` in it (docker exec -it)"
        )
    return explore(resolve(asked), asked)


def _ends_with_its_container() -> bool:
    """Whether this is the first process of a container, or the one for which its init was started (`docker run --init`)."""
    own = "".join(f"\0{word}" for word in sys.argv[1:])
    return os.getpid() == 1 or (os.getppid() == 1 and (read_once("/proc/1/cmdline") or "").endswith(f"{own}\0"))
