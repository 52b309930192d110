"""From `--workers`, `--bind` and a profile's `[users] workers` to the workers of a run, and how its processes find each other."""

from __future__ import annotations

import os
import secrets
import socket
from typing import TYPE_CHECKING

from ...addresses import host_and_port
from ...errors import InputError
from ...profile import WORKERS_MOST, Profile, locustfiles
from ...run.options import SECRET, RunOptions, WorkersWanted
from ...toml import shown
from .arguments import RunArguments

if TYPE_CHECKING:
    from ...load.engine import EngineContext, MakeEngine
    from ...load.load_thread import LoadThread
    from ...load.workers.master_engine import MasterEngine
    from ...load.workers.messages import Job
    from ...run.context import RunContext
    from ...run.load_workers import LoadWorkers
    from ...run.service import Service
    from ...target.supervisor import Supervisor


DEFAULT_WORKERS_MOST = 8
"""Workers that a run may start on any machine, if the profile has no guards.max_workers; more on one with more cores."""

SECRET_LEAST = 16
"""Characters: whoever records the traffic could find a shorter secret by trying all."""


def workers_wanted(asked: RunArguments, profile: Profile) -> WorkersWanted | None:
    """The workers that options and profile request; None: users run in this process. Raises InputError.

    Of other machines one by default, and none if this machine has workers. Plain ones are Locust's own, which know no secret.
    The secret leaves the environment, so that the target does not inherit it.
    """
    given = os.environ.pop(SECRET, "")
    bind, expected, plain = asked.bind, asked.expect_workers, asked.plain_workers
    if bind is None and (expected is not None or plain):
        option = "--expect-workers" if expected is not None else "--plain-workers"
        raise InputError(f"{option}: needs --bind ADDRESS:PORT, where workers of other machines join")
    own = _own(asked.workers if asked.workers is not None else profile.users.workers)
    if own is None and bind is None:
        return None
    most = most_workers(profile)
    if own is not None and own > most:
        raise InputError(f"--workers: expected at most guards.max_workers ({most}), got {own}")
    return WorkersWanted(
        own=own or 0,
        expected=expected if expected is not None else 0 if own else 1,
        bind=_bind_address(bind) if bind is not None else None,
        plain=plain,
        secret="" if plain else secrets.token_hex(32) if bind is None else _checked(given),
    )


def _own(asked: str | int | None) -> int | None:
    """The number of workers on this machine."""
    if asked is None or isinstance(asked, int):
        return asked
    if asked == "auto":
        return max(1, (os.cpu_count() or 1) - 1)
    if not asked.isdecimal() or not 1 <= int(asked) <= WORKERS_MOST:
        raise InputError(f"--workers: expected 1 to {WORKERS_MOST}, or auto, got {shown(asked)}")
    return int(asked)


def workers_of(options: RunOptions) -> WorkersWanted:
    """Those of the run; without any, what those that are added later need."""
    return options.workers or WorkersWanted(secret=secrets.token_hex(32))


def most_workers(profile: Profile) -> int:
    """The most worker processes that a run may start."""
    return profile.guards.max_workers or max(DEFAULT_WORKERS_MOST, os.cpu_count() or 1)


def _bind_address(bind: str) -> tuple[str, int]:
    address = host_and_port(bind)
    if address is None:
        raise InputError(f"--bind: expected ADDRESS:PORT, got {shown(bind)}")
    return address


def _checked(given: str) -> str:
    """The secret of the environment. Raises InputError: too short, or not set."""
    if len(given) < SECRET_LEAST:
        raise InputError(
            f"--bind: set {SECRET} here and for the workers to a secret of {SECRET_LEAST} characters or more"
            " (`openssl rand -hex 32`), or add --plain-workers to let anybody join who reaches the port"
        )
    return given


def join_host(workers: WorkersWanted) -> str:
    """The host at which workers of this machine join the run."""
    bound = workers.bind[0] if workers.bind is not None else "127.0.0.1"
    return "127.0.0.1" if bound in ("0.0.0.0", "*", "::") else bound


def worker_arguments(options: RunOptions) -> tuple[str, ...]:
    """Arguments of `capexplorer worker` on this machine, other than `--join`."""
    files = () if options.locustfile is None else locustfiles(options.locustfile)
    file = ("-f", ",".join(str(each.resolve()) for each in files)) if files else ()
    return (*file, *(word for host in options.allow_hosts for word in ("--allow-host", host)))


def engine_maker(options: RunOptions, service: Service, workers: WorkersWanted) -> MakeEngine:
    """Makes the engine that the run's workers join: those of the command line, and those that are added later."""
    from ...load.hooks.hook import put_in_place
    from ...load.hooks.hook_table import WORKERS
    from ...load.workers.master_engine import MasterEngine, MasterOptions

    host, port = workers.bind or ("127.0.0.1", 0)
    master = MasterOptions(bind_host=host, port=port, accepts_plain=workers.plain, here=socket.gethostname())

    def make_engine(context: EngineContext) -> MasterEngine:
        if workers.secret:
            put_in_place(WORKERS, workers.secret)
        return MasterEngine(context, master, _job(options, service))

    return make_engine


def load_workers(
    context: RunContext, supervisor: Supervisor, load_thread: LoadThread, wanted: WorkersWanted, make_engine: MakeEngine
) -> LoadWorkers:
    """The workers of this run, of which none has started."""
    from ...run.load_workers import LoadWorkers, WorkerCommand

    options = context.options
    command = WorkerCommand(
        join_host=join_host(wanted),
        arguments=worker_arguments(options),
        limits=options.profile.limits.generator,
        most=most_workers(options.profile),
        secret=wanted.secret,
        variables=options.variables,
    )
    return LoadWorkers(context, load_thread, supervisor, wanted, command, make_engine)


def _job(options: RunOptions, service: Service) -> Job:
    from ...load.workers.messages import Job, digest_of

    file, users = options.locustfile, options.profile.users
    return Job(
        users=users if file is None else None,
        values=options.values,
        locustfile=str(file) if file is not None else None,
        digest=digest_of(file) if file is not None else None,
        arguments=options.locust_arguments,
        url=service.url if file is None else options.users_url(service.url),
        max_body_mb=users.max_body_mb,
        traceparent=options.traceparent,
        limits=options.profile.slo.of_request,
        metrics=users.metrics,
    )
