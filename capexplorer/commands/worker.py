"""`capexplorer worker`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..addresses import host_and_port
from ..errors import InputError
from .shared_options import LocalFile
from .terminal import print_line, signals_to

JOIN_WITHIN_S = 30.0


@click.command()
@click.option("--join", required=True, metavar="HOST:PORT", help="Where the run waits for workers (`run --bind`).")
@click.option("-f", "--locustfile", type=LocalFile(), help="The run's locustfile on this machine.")
@click.option(
    "--allow-host", "allow_hosts", multiple=True, metavar="HOST", help="A host other than loopback that may receive load."
)
@click.option("--wait", "wait_s", type=click.FloatRange(min=0, min_open=True), default=JOIN_WITHIN_S, metavar="SECONDS",
              help="How long to wait for the run to answer; default: 30.")  # fmt: skip
def command(join: str, locustfile: Path | None, allow_hosts: tuple[str, ...], wait_s: float) -> int:
    """Generate load on this machine for a run on another one, which was started with `--bind` and `--expect-workers`.

    Both sides have the same CAPEXPLORER_SECRET in the environment. A locustfile is not transferred: an identical file must be
    on this machine.
    """
    address = host_and_port(join)
    if address is None:
        raise InputError(f"--join: expected HOST:PORT, got {join!r}")
    host, port = address
    from ..load import native

    native.patch(max_body_mb=None)
    from ..load.hooks.hook import put_in_place
    from ..load.hooks.hook_table import WORKERS
    from ..run.options import SECRET, TOKEN
    from ..run.worker_process import WorkerOptions, WorkerProcess

    shared = os.environ.pop(SECRET, "")
    if shared:
        put_in_place(WORKERS, shared)
    options = WorkerOptions(
        host=host,
        port=port,
        locustfile=locustfile,
        allow_hosts=allow_hosts,
        token=os.environ.pop(TOKEN, ""),
        join_within_s=wait_s,
    )
    worker = WorkerProcess(options, print_line)
    with signals_to(lambda name: worker.end()):
        worker.join()
        print_line(f"joined the run at {join}")
        why = worker.work()
    if why:
        raise InputError(f"the run at {join}: {why}")
    return 0
