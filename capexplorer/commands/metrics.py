"""`capexplorer metrics`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import paths
from ..addresses import is_http_url, without_userinfo
from ..errors import ExitCode, InputError
from ..extras import require
from ..session.catalog import find
from ..session.reader import open_session
from ..toml import shown
from . import shared_options
from .listening import LISTEN, PROMETHEUS, listening_address
from .terminal import print_error, print_line, signals_to

if TYPE_CHECKING:
    from ..metrics.following import FollowedSession, Receiver


@click.command()
@click.argument("session", required=False, shell_complete=shared_options.sessions)
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help=f"Answer Prometheus there; default: {LISTEN}, unless --otlp or --grafana is given. Anyone who reaches it can read it.",
)
@click.option("--otlp", metavar="URL", help="Send the metrics to a receiver of OTLP over HTTP: http://127.0.0.1:4318.")
@click.option(
    "--grafana",
    metavar="URL",
    help="Annotate levels and marks there; CAPEXPLORER_GRAFANA_TOKEN has the token of a service account.",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    help="Replay the session from its start, as if it began now: seconds of the session a second.",
)
@click.option("--dashboard", type=click.Path(path_type=Path), metavar="FILE", help="Write a Grafana dashboard, and do no more.")
@click.option("--force", is_flag=True, help="With --dashboard: overwrite an existing file.")
@shared_options.sessions_dir
def command(
    session: str | None,
    listen: str | None,
    otlp: str | None,
    grafana: str | None,
    speed: float | None,
    dashboard: Path | None,
    force: bool,
    sessions_dir: Path | None,
) -> int:
    """Export a session to Prometheus, OpenTelemetry and Grafana, while it is recorded or afterwards.

    SESSION is a path, any unique part of an id or title, `last` or `last-1`; --dashboard needs none. Only the log is read, so a
    run has no work with it. The command goes on until Ctrl+C; without --listen it ends with the session. `run --metrics
    ADDRESS:PORT` starts it with a run.
    """
    if dashboard is not None:
        return _write_dashboard(dashboard, force=force)
    if session is None:
        raise InputError("SESSION: expected the session to export, such as `last`")
    address = listening_address(listen, "--listen") if listen or not (otlp or grafana) else None
    for option, url in {"--otlp": otlp, "--grafana": grafana}.items():
        if url is not None and not is_http_url(url):
            raise InputError(f"{option}: expected http(s)://HOST[:PORT], got {shown(without_userinfo(url))}")
    if address is not None:
        require("--listen", PROMETHEUS)
    if otlp is not None:
        require("--otlp", "opentelemetry.proto")
    from ..metrics.following import FollowedSession, Sending, Stop

    with ExitStack() as open_now:
        log = open_now.enter_context(open_session(find(session, paths.sessions(sessions_dir))))
        followed, stop = FollowedSession(log, speed), Stop()
        receivers = _receivers(followed, otlp, grafana)
        open_now.enter_context(signals_to(lambda name: setattr(stop, "by", name)))
        if address is not None:
            open_now.enter_context(_served(followed, *address))
        sending = [Sending(receiver, print_error) for receiver in receivers]
        followed.follow(stop, lambda: None if address else print_line(f"following {followed.id}; Ctrl+C ends it"))
        if address is not None:
            stop.wait()
        are_taken = [each.end() for each in sending]
        for note in log.notes:
            print_error(f"{log.path}: {note}")
    if stop.by:
        return 128 + signal.Signals[stop.by]
    return ExitCode.DONE if all(are_taken) else ExitCode.FAILED


def _write_dashboard(path: Path, *, force: bool) -> int:
    from ..metrics.dashboard import dashboard
    from ..report.writing import write_file

    write_file(path, dashboard().encode(), force=force)
    return 0


def _receivers(followed: FollowedSession, otlp: str | None, grafana: str | None) -> list[Receiver]:
    """Raises InputError: no token for Grafana."""
    found: list[Receiver] = []
    if otlp is not None:
        from ..metrics.otlp import OtlpReceiver

        found.append(OtlpReceiver(followed, otlp))
    if grafana is not None:
        from ..metrics.grafana import TOKEN, GrafanaReceiver
        from .run.exploring import level_line

        token = os.environ.get(TOKEN, "")
        if not token:
            raise InputError(f"--grafana: set {TOKEN} to the token of a service account")
        found.append(GrafanaReceiver(followed, grafana, token, level_line))
    return found


@contextmanager
def _served(followed: FollowedSession, address: str, port: int) -> Iterator[None]:
    from ..metrics.prometheus import served

    with served(followed.figures, address, port):
        print_line(f"{followed.id}: http://{f'[{address}]' if ':' in address else address}:{port}/metrics")
        yield
