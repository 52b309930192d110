"""Turns the command line into RunOptions: looks up every name and checks every value before anything starts."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ... import namespace, paths
from ...addresses import is_host_and_port, is_http_url, is_loopback, is_url, without_userinfo
from ...errors import InputError
from ...extras import require
from ...load import variables
from ...model.controls import SPAWN_RATE_LEAST, SPAWN_RATE_MOST, Param
from ...model.limits import Limits
from ...model.load import Rate
from ...model.requirements import LoadRequirement, Requirement
from ...model.watched import PartSpec, mistakes, parsed_part
from ...profile import Profile, Users, beside
from ...read.servers import missing_client
from ...run.options import NO_RATES, SECRET, RunOptions, Task
from ...session import redact
from ...steer.plan import Step, check_start, duration_s, is_text, offers_rates, parse
from ...steer.requirement_text import parse as parse_requirement
from ...target import place
from ...target.spec import TargetSpec, load_spec
from ...toml import shown
from ..limiting import OPTION, check_here, check_loopback_alone, check_of_containers, limits_of
from ..listening import PROMETHEUS, listening_address
from . import profile
from .arguments import RunArguments
from .profile import profile_of, with_service_and_users
from .worker_setup import workers_wanted


def target_to_start(asked: RunArguments, found: Profile, where: str, sessions_dir: Path) -> tuple[TargetSpec | None, int | None]:
    """(target to start, and its port if the command line fixes it); None: the service runs already."""
    _check_one_service(asked)
    if asked.host is not None:
        return None, None
    port = None
    if asked.compose is not None:
        spec, port = profile.composed(str(asked.compose), asked.ready, asked.ready_timeout_s, profile.compose_source())
    elif asked.target_cmd is not None:
        params = _params_of_command(asked.target_cmd, asked.settings, found)
        spec, port = profile.target_of(asked.target_cmd, asked.ready, asked.ready_timeout_s, params=params)
    elif asked.ready is not None or asked.ready_timeout_s is not None:
        option = "--ready" if asked.ready is not None else "--ready-timeout"
        raise InputError(f"{option}: needs --target-cmd or --compose")
    elif found.command is not None:
        spec, port = profile.target_of(
            found.command, found.ready, found.ready_timeout_s, profile.command_source(where), found.params
        )
    elif found.compose is not None:
        spec, port = profile.composed(found.compose, found.ready, found.ready_timeout_s, profile.compose_source(where))
    elif isinstance(found.target, str):
        spec = load_spec(paths.target(found.target, f"{where}: target"))
        require(f"target `{spec.name}`", *spec.packages)
    elif asked.profile is not None and found.url is None:
        raise InputError(
            f"{where}: expected `command`, `url` or `target`, or --target-cmd COMMAND, --compose FILE or --host URL beside the"
            " profile"
        )
    else:
        return None, None
    if asked.pid is not None or asked.port_of is not None:
        raise InputError("--pid and --port-of: need --host; a target that capexplorer starts is always watched")
    return msgspec.structs.replace(spec, scratch=place.scratch_folder(sessions_dir)), port


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


def watches_of(asked: Sequence[str], of_profile: Sequence[PartSpec]) -> tuple[PartSpec, ...]:
    """The profile's parts, then those of the command line; one of the same name replaces the profile's. Raises InputError."""
    given = [_parsed(text) for text in asked]
    names = {watch.name for watch in given}
    found = (*(watch for watch in of_profile if watch.name not in names), *given)
    for _, expected in mistakes(found):
        raise InputError(f"--watch: {expected}")
    for missing in filter(None, map(missing_client, found)):
        raise InputError(f"watch: {missing}")
    return found


def _parsed(text: str) -> PartSpec:
    try:
        return parsed_part(text)
    except ValueError as error:
        raise InputError(f"--watch: {error}") from None


def resolve(asked: RunArguments) -> RunOptions:
    """The checked options of a run. Raises InputError: one line with the file or option, the key, and what was expected."""
    asked = with_service_and_users(asked)
    name, found, where, known = profile_of(asked)
    if asked.max_users is not None:
        found = _with_at_most(asked.max_users, found)
    sessions_dir = paths.new_sessions(asked.sessions_dir)
    spec, port = target_to_start(asked, found, where, sessions_dir)
    params = _params(asked, found, where, spec)
    locustfile = asked.locustfile or (beside(Path(where).parent, found.users.locustfile) if found.users.locustfile else None)
    if asked.locust_arguments and locustfile is None:
        raise InputError(f"{shown(asked.locust_arguments[0])}: arguments after `--` are for a locustfile: add -f LOCUSTFILE")
    allow_hosts = (*found.guards.allow_hosts, *asked.allow_hosts)
    host = None if spec is not None else asked.host or found.url or (locustfile and os.environ.get("LOCUST_HOST")) or None
    url = _url(host, locustfile, allow_hosts)
    version = found.version or commit_of(spec)
    limits = _limits(asked, found, where, spec, port, allow_hosts)
    if locustfile is None:
        variables.check(found.users, known, where)
    named = variables.values(found.users, known)
    required = _requirements(asked, found, where)
    workers = workers_wanted(asked, found)
    redact.remember({**named, SECRET: workers.secret if workers is not None else ""})
    return RunOptions(
        name=name,
        profile=msgspec.structs.replace(
            found, limits=limits, watch=watches_of(asked.watches, found.watch), users=_users(asked, found)
        ),
        spec=spec,
        params=params,
        url=url,
        users_host=None if host == url else host,
        port=port,
        watched_pid=profile.watched_pid(asked),
        values=variables.read(found.users, Path(where).parent, where) if locustfile is None else (),
        variables=named,
        locustfile=locustfile,
        locust_arguments=asked.locust_arguments,
        start_users=_first_users(asked, found, required),
        spawn_rate=_spawn_rate(asked, found),
        label=asked.label or version,
        version=version,
        sessions_dir=sessions_dir,
        steps=_steps(asked, found, where),
        allow_hosts=allow_hosts,
        sandbox=asked.sandbox,
        autopilot=_autopilot(asked, required),
        profile_at_knee=_profile_at_knee(asked),
        explains=_explains(asked, required),
        requirements=required,
        within_s=_within_s(asked, found, where),
        workers=workers,
        keep_bodies=asked.keep_bodies,
        traceparent=asked.traceparent or asked.trace_url is not None,
        trace_url=_trace_url(asked),
        metrics=None if asked.metrics is None else _metrics(asked.metrics, limits, sandbox=asked.sandbox),
        follow_shape=asked.plan is None and asked.users is None and asked.autopilot is None,
    )


TRACE_ID = "{trace_id}"


def _trace_url(asked: RunArguments) -> str | None:
    """Where traces are shown. Raises InputError; also if they are wanted, but plain Locust workers send the requests."""
    url = asked.trace_url
    if asked.plain_workers and (asked.traceparent or url is not None):
        raise InputError(f"{'--traceparent' if url is None else '--trace-url'}: plain Locust workers send no traces")
    if url is not None and not (TRACE_ID in url and is_http_url(url.replace(TRACE_ID, "0"))):
        raise InputError(f"--trace-url: expected http(s)://HOST/... with {TRACE_ID} in it, got {shown(without_userinfo(url))}")
    return url


def _metrics(asked: str, limits: Limits, *, sandbox: bool) -> tuple[str, int]:
    """Where the metrics are served. Raises InputError: not there, since the port is taken or the run has a network of its own."""
    address = listening_address(asked, "--metrics")
    require("--metrics", PROMETHEUS)
    if namespace.is_wanted(limits.network, sandbox=sandbox):
        raise InputError(
            "--metrics: the run has a network of its own, which no scraper reaches: serve it by `capexplorer metrics last`"
        )
    try:
        socket.create_server(address, family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET).close()
    except OSError as error:
        raise InputError(f"--metrics: {asked}: cannot listen there: {error.strerror or error}") from None
    return address


def _requirements(asked: RunArguments, found: Profile, where: str) -> tuple[Requirement, ...]:
    """What the service must do, by the profile and the command line, each once."""
    texts = [(text, f"{where}: require.all") for text in found.require.all] + [(text, "--require") for text in asked.requirements]
    required = [(parse_requirement(text, text_in, found.guards.max_users), text_in) for text, text_in in texts]
    for each, text_in in required:
        if asked.plain_workers and isinstance(each, LoadRequirement) and isinstance(each.load, Rate):
            raise InputError(f"{text_in}: {NO_RATES}")
    return tuple(dict.fromkeys(each for each, _ in required))


def _within_s(asked: RunArguments, found: Profile, where: str) -> float | None:
    """Seconds in which the requirements are to be decided; None: not said."""
    if asked.within is not None and not (asked.requirements or found.require.all):
        raise InputError("--within: needs --require, which is to be decided in that time")
    if asked.within is not None:
        return duration_s(asked.within, "--within")
    return None if found.require.within is None else duration_s(found.require.within, f"{where}: require.within")


def _autopilot(asked: RunArguments, required: Sequence[Requirement]) -> Task | None:
    """What the autopilot looks for from the start; None: it is off. It decides what a profile requires where no person does."""
    if asked.plan is not None:
        return None
    alone = bool(asked.requirements or asked.autopilot or asked.headless or asked.detach)
    if required and alone:
        return "require"
    return None if asked.autopilot is None else "rate" if asked.autopilot == "rate" else "knee"


def _profile_at_knee(asked: RunArguments) -> bool:
    """Whether stacks are sampled once the autopilot has found the knee. Raises InputError."""
    if asked.profile_at is not None and asked.plan is not None:
        raise InputError("--profile-at: cannot be combined with --plan: a plan has the step `profile 10s`")
    return asked.profile_at is not None


def _explains(asked: RunArguments, required: Sequence[Requirement]) -> bool:
    """Whether experiments follow the knee. Raises InputError if the autopilot does not look for it."""
    if asked.why and _autopilot(asked, required) != "knee":
        raise InputError("--why: needs --autopilot=users without --require: experiments follow a knee")
    return asked.why


def _params(asked: RunArguments, found: Profile, where: str, spec: TargetSpec | None) -> dict[str, Param]:
    """The target's parameters: those of `--set`, else the profile's, else the defaults."""
    given = given_settings(asked.settings)
    if spec is None:
        if given:
            raise InputError("--set: needs a target that capexplorer starts; this service has no parameters to set")
        return {}
    of_profile = {name: value for name, value in found.params.items() if asked.target_cmd is None or name in spec.params}
    return spec.resolve({**spec.resolve(of_profile, f"{where}: params"), **given})


def _url(url: str | None, locustfile: Path | None, allow_hosts: tuple[str, ...]) -> str | None:
    """The URL of a running service. For users of a locustfile, who may not speak HTTP, any scheme or HOST:PORT."""
    if url is None:
        return None
    if locustfile is None:
        check_url(url, allow_hosts)
        return url
    whole = f"tcp://{url}" if is_host_and_port(url) else url
    if not is_url(whole):
        raise InputError(f"--host: expected a URL such as http://HOST[:PORT], or HOST:PORT, got {shown(without_userinfo(url))}")
    _check_allowed(whole, allow_hosts)
    return whole


def _limits(
    asked: RunArguments, found: Profile, where: str, spec: TargetSpec | None, port: int | None, allow_hosts: tuple[str, ...]
) -> Limits:
    """The limits of the command line and the profile. Raises InputError if this machine or this target cannot have them."""
    limits, limits_in = limits_of(asked.limits, found.limits), OPTION if asked.limits else where
    if spec is not None and spec.compose:
        check_of_containers(limits, limits_in, sandbox=asked.sandbox)
    if asked.sandbox:
        check_loopback_alone(namespace.SANDBOX, starts_target=spec is not None, allow_hosts=allow_hosts)
    check_here(limits, limits_in, starts_target=spec is not None, port=port, allow_hosts=allow_hosts)
    return limits


def _with_at_most(users: int, found: Profile) -> Profile:
    """The profile with lower guards."""
    most = min(users, found.guards.max_users)
    guards = msgspec.structs.replace(found.guards, max_users=most)
    return msgspec.structs.replace(
        found, guards=guards, users=msgspec.structs.replace(found.users, start=min(found.users.start, most))
    )


def _first_users(asked: RunArguments, found: Profile, required: Sequence[Requirement]) -> int:
    """The initial users. The autopilot begins at one user, not at the profile's `start`: low levels define the low-load line."""
    by_default = 1 if _autopilot(asked, required) is not None else found.users.start
    users = by_default if asked.users is None else asked.users
    if users > found.guards.max_users:
        raise InputError(f"--users: expected at most guards.max_users ({found.guards.max_users}), got {users}")
    return users


def _spawn_rate(asked: RunArguments, found: Profile) -> float | None:
    """Users started per second; None: automatic."""
    rate = asked.spawn_rate
    if rate is not None and not SPAWN_RATE_LEAST <= rate <= SPAWN_RATE_MOST:
        raise InputError(f"--spawn-rate: expected {SPAWN_RATE_LEAST:g} to {SPAWN_RATE_MOST:g} users a second, got {rate:g}")
    return rate or found.users.spawn_rate


def _users(asked: RunArguments, found: Profile) -> Users:
    """The profile's users, with the arrivals and metrics of the command line."""
    metrics = (*asked.custom_metrics, *found.users.metrics)
    return msgspec.structs.replace(found.users, arrivals=asked.arrivals or found.users.arrivals, metrics=metrics)


def given_settings(settings: tuple[str, ...]) -> dict[str, str]:
    """Values as they were typed, by name, of `--set NAME=VALUE`. Raises InputError."""
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError(f"--set: expected KEY=VALUE, got {shown(setting)}")
        pairs[key] = value
    return pairs


def check_url(url: str, allow_hosts: tuple[str, ...], named_by: str = "--host") -> None:
    """Raises InputError: not an HTTP URL, or of a host that may not receive load."""
    if not is_http_url(url):
        raise InputError(f"{named_by}: expected http://HOST[:PORT] or https://..., got {shown(without_userinfo(url))}")
    _check_allowed(url, allow_hosts)


def _check_allowed(url: str, allow_hosts: tuple[str, ...]) -> None:
    host = urlsplit(url).hostname or ""
    if not is_loopback(host) and host not in {allowed.lower().strip("[]") for allowed in allow_hosts}:
        raise InputError(f"load to {host} is not allowed: only loopback, or add --allow-host {host}")


def _steps(asked: RunArguments, found: Profile, where: str) -> tuple[Step, ...]:
    """The steps of `--plan`; none without it. Raises InputError also for an autopilot that cannot run as asked."""
    if asked.autopilot is not None and asked.plan is not None:
        raise InputError("--autopilot: cannot be combined with --plan: only one of them can step the users")
    steps = () if asked.plan is None else _parsed_plan(asked.plan, found, where)
    if asked.plain_workers and offers_rates(steps):
        raise InputError(f"--plan: {NO_RATES}")
    if asked.plain_workers and asked.autopilot == "rate":
        raise InputError(f"--autopilot: {NO_RATES}")
    return steps


def _parsed_plan(plan: str, found: Profile, where: str) -> tuple[Step, ...]:
    """A plan by its name in the profile, or by its text."""
    if plan not in found.plans and not is_text(plan):
        known = ", ".join(found.plans) or "none"
        raise InputError(f"--plan: no plan `{plan[:60]}` in the profile (it has: {known}), and not USERS:DURATION[,...]")
    text, text_in = (found.plans[plan], f"{where}: plans.{plan}") if plan in found.plans else (plan, "--plan")
    steps = parse(text, text_in, found.guards.max_users)
    check_start(steps, text_in)
    return steps
