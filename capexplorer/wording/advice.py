"""The advice for a finding, in one line: a fixed text, or one made from readings, operating system, the session's own limits, and
what its target and client have: no advice names a parameter or an option that they do not have.

A line names the first thing to do, then alternatives. It contains the readings that it depends on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..model.catalogue import ENTRIES
from ..model.events import Header, clients_of
from ..model.findings import Blame, Bottleneck, Cause, CurveFinding, Finding, Readings
from ..model.limits import limits_in_profile
from .knee_sentences import missing

_WIDER = {
    "Linux": '`sysctl -w net.ipv4.ip_local_port_range="1024 65535"`',
    "Darwin": "`sysctl -w net.inet.ip.portrange.first=1024`",
    "Windows": "`netsh int ipv4 set dynamicport tcp start=1025 num=64510`",
}
_REUSE = {
    "Linux": "reuse ports (`sysctl -w net.ipv4.tcp_tw_reuse=1`)",
    "Darwin": "free them sooner (`sysctl -w net.inet.tcp.msl=1000`)",
    "Windows": "free them sooner (registry: Tcpip\\Parameters\\TcpTimedWaitDelay=30)",
}
_PROXY_PORTS = (
    "Let the proxy keep its connections to the upstream (nginx: `keepalive 64` in `upstream`), or widen the range of ports on "
    "its machine (`net.ipv4.ip_local_port_range`)."
)
_OWN_WIDER = "`--limit network.ip_local_port_range=[10000,65535]`"
"""The range leaves ports below 10000 to the target."""
_OWN_REUSE = "reuse ports (`--limit network.tcp_tw_reuse=1`)"


@dataclass(frozen=True, slots=True)
class Available:
    """What advice may name. None: not known, as on the page of all causes; then it says where each option exists."""

    params: tuple[str, ...] | None = None
    """Parameters of the target, for `--set`."""
    clients: tuple[str, ...] | None = None
    """Client classes of the users."""
    has_locustfile: bool | None = None
    """Whether the users are those of a locustfile, else of a profile."""
    is_started: bool | None = None
    """Whether capexplorer started the target."""


def available(header: Header) -> Available:
    """What the target and the client of a session have."""
    users = header.profile.get("users")
    has_locustfile = isinstance(users, dict) and bool(users.get("locustfile"))
    return Available(tuple(header.target.params), clients_of(header), has_locustfile, bool(header.target.command))


def advice(finding: Finding, header: Header | None = None) -> str:
    """What to do about a finding, in one line; empty without advice.

    `header`: the session's header; the generator's operating system and the session's own limits select the commands.
    """
    if isinstance(finding, CurveFinding):
        return "; ".join(map(missing, finding.missing))
    if not isinstance(finding, Blame):
        return ""
    system = header.host.system if header is not None else None
    limits = limits_in_profile(header.profile) if header is not None else {}
    at_rate = finding.offered_at_per_s if isinstance(finding, Bottleneck) else None
    readings = finding.readings if at_rate is None else {**finding.readings, "offered_at_per_s": at_rate}
    session = available(header) if header is not None else Available()
    advised = advice_for(_named(finding), readings, system, limits, session)
    logged = finding.logged.replace("`", "'").rstrip(".") if isinstance(finding, Cause) else ""  # backquotes enclose commands
    return f"Its log: {logged}. {advised}" if logged else advised


def _named(finding: Blame) -> str:
    """The id whose advice is given: the finding's own, or for an unknown cause that of its most frequent symptom."""
    symptoms = finding.symptoms if isinstance(finding, Cause) and finding.name == "unknown" else {}
    return max(symptoms, key=lambda each: symptoms[each]) if symptoms else finding.name


def advice_for(
    name: str,
    readings: Readings,
    system: str | None = None,
    limits: Collection[str] = (),
    session: Available = Available(),  # noqa: B008 - frozen
) -> str:
    """The advice for one id of the catalogue; empty for an id that this version does not know.

    `system`: Linux (the default), Darwin or Windows. `limits`: keys that the session's profile sets
    (`model.limits.limits_in_profile`); changing a sysctl of the machine does not raise those.
    """
    if readings.get("proxy") == "no_local_port":
        return _PROXY_PORTS
    limited, built = _LIMITED.get(name), _BUILT.get(name)
    own = limited(readings, limits) if limited is not None else ""
    text = own or (built(readings, system or "Linux") if built is not None else _text(name))
    return _OPTION.sub(lambda option: _words(option[1], session), text)


_OPTION = re.compile(r"\{(\w+)\}")


def _text(name: str) -> str:
    return ENTRIES[name].advice if name in ENTRIES else ""


# -- what the session's target and client have


_PARAMETERS: dict[str, tuple[str, Sequence[str]]] = {
    "workers": (r"worker|thread|proc|pool|conn|slot|consumer|concurren", ("workers", "threads")),
    "processes": (r"worker|proc", ("workers",)),
}
"""By option: names of the target's parameters, and those of an unknown target."""

_BY_FILE: dict[str, tuple[str, str]] = {
    "keep_alive": ("`keep_alive = true` in the profile", "one client for each user in the locustfile"),
    "keep_connections": ("`keep_alive = true`", "one client for each user"),
    "wait": ("`wait_s` in the profile", "`wait_time` in the locustfile"),
    "timeout": ("`timeout_s`", "the timeout of the users' client"),
    "expected": ("`expect_status` in the profile", "the checks in the locustfile"),
    "larger_bodies": ("raise `max_body_mb` in the profile's [users]", "read replies in parts, with `stream=True`"),
}
"""By option: (where a profile has the users, where a locustfile has them)."""

_BY_TARGET: dict[str, tuple[str, str]] = {
    "log": ("the target's log (key o)", "the service's own log"),
    "cores": (" (`--limit target.cpus=...`)", ""),
}
"""By option: (for a target that capexplorer started, for a service that was running)."""


def _words(option: str, session: Available) -> str:
    """The text of an option of the session, such as ` (`--set threads=N`)` for `workers`; empty if it has none."""
    if option in _PARAMETERS:
        return _set(session, *_PARAMETERS[option])
    if option in _BY_FILE:
        return _BY_FILE[option][bool(session.has_locustfile)]
    if option in _BY_TARGET:
        return _BY_TARGET[option][session.is_started is False]
    return {"lean": _lean, "retries": _retries}[option](session)


def _set(session: Available, pattern: str, usual: Sequence[str]) -> str:
    """The parameters of the target whose names match, as options; where the target is not known, the usual ones."""
    if session.params is None:
        return f" ({' or '.join(f'`--set {name}=N`' for name in usual)} where the target has it)"
    found = [name for name in session.params if re.search(pattern, name, re.IGNORECASE)]
    return f" ({' or '.join(f'`--set {name}=N`' for name in found[:3])})" if found else ""


def _lean(session: Available) -> str:
    if session.clients is not None and set(session.clients) <= {"LeanHttpUser"}:
        return ""
    if session.has_locustfile:
        return "`LeanHttpUser` as their class, or "
    return 'the lean client (`client = "lean"`), or '


def _retries(session: Available) -> str:
    if session.clients is None or "FastHttpUser" in session.clients:
        return "FastHttpUser retries a request up to 12 times when its connection is closed"
    return "the adapter that the locustfile mounts retries requests"


# -- limits set by the session's own profile


def _own_ports(readings: Readings, limits: Collection[str]) -> str:
    return f"Keep connections alive ({{keep_connections}}), or widen the range: {_OWN_WIDER}." if _has_namespace(limits) else ""


def _own_time_wait(readings: Readings, limits: Collection[str]) -> str:
    sentence = f"Keep connections alive ({{keep_connections}}), or {_OWN_REUSE}, or widen the range: {_OWN_WIDER}."
    return sentence if _has_namespace(limits) else ""


def _own_established(readings: Readings, limits: Collection[str]) -> str:
    sentence = f"Every port is in use, so tcp_tw_reuse does not help: widen the range, {_OWN_WIDER}."
    return sentence if _has_namespace(limits) else ""


def _own_backlog(readings: Readings, limits: Collection[str]) -> str:
    sentence = (
        "Raise the server's backlog (gunicorn: `--backlog 2048`) and `--limit network.somaxconn=4096` (the lower value applies), "
    )
    return f"{sentence}then add workers, so that connections are accepted faster." if _has_namespace(limits) else ""


def _limited_fds(side: str) -> Callable[[Readings, Collection[str]], str]:
    key = f"{side}.open_files"

    def sentence(readings: Readings, limits: Collection[str]) -> str:
        if key not in limits:
            return ""
        value = _power_of_two(readings, "fds_limit", 65_536)
        return f"The session's own limit applies: use `--limit {key}={value}`, or remove it."

    return sentence


def _has_namespace(limits: Collection[str]) -> bool:
    return any(key.startswith("network.") for key in limits)


_LIMITED: dict[str, Callable[[Readings, Collection[str]], str]] = {
    "ephemeral_port_exhaustion": _own_ports,
    "ephemeral_port_exhaustion_time_wait": _own_time_wait,
    "ephemeral_port_exhaustion_established": _own_established,
    "listen_backlog_overflow": _own_backlog,
    "fd_exhaustion_generator": _limited_fds("generator"),
    "fd_exhaustion_target": _limited_fds("target"),
}
"""Id to its advice if the session's own limit may apply; empty text: it does not."""


# -- limits of the machine


def _ports(readings: Readings, system: str) -> str:
    return f"Keep connections alive ({{keep_connections}}), or widen the range: {_wider(system)}."


def _time_wait(readings: Readings, system: str) -> str:
    reuse = _REUSE.get(system, _REUSE["Linux"])
    return f"Keep connections alive ({{keep_connections}}), or {reuse}, or widen the range: {_wider(system)}."


def _established(readings: Readings, system: str) -> str:
    return f"Every port is in use, so tcp_tw_reuse does not help: widen the range, {_wider(system)}, or add addresses."


def _wider(system: str) -> str:
    return _WIDER.get(system, _WIDER["Linux"])


def _own_fds(readings: Readings, system: str) -> str:
    limit = _power_of_two(readings, "fds_limit", 65_536)
    if system == "Windows":
        return "Use fewer users in one process: Windows has no limit on open files that could be raised."
    return f"Raise the limit before the run: `ulimit -n {limit}` (the hard limit as root, or in /etc/security/limits.conf)."


def _system_fds(readings: Readings, system: str) -> str:
    name = "kern.maxfiles" if system == "Darwin" else "fs.file-max"
    return (
        f"`sysctl -w {name}={_power_of_two(readings, 'fds_limit_of_system', 1_048_576)}`, and find the process that holds "
        f"so many."
    )


def _conntrack(readings: Readings, system: str) -> str:
    return f"`sysctl -w net.netfilter.nf_conntrack_max={_power_of_two(readings, 'conntrack_max', 262_144)}`."


def _buckets(readings: Readings, system: str) -> str:
    return f"`sysctl -w net.ipv4.tcp_max_tw_buckets={_power_of_two(readings, 'tcp_max_tw_buckets', 262_144)}`."


def _target_fds(readings: Readings, system: str) -> str:
    limit = _power_of_two(readings, "fds_limit", 65_536)
    leak = f"`ls -l /proc/{_pid(readings)}/fd` lists open files"
    return (
        f"Raise the limit where the target is started (`ulimit -n {limit}`, systemd: LimitNOFILE={limit}); check for a "
        f"leak: {leak}."
    )


def _backlog(readings: Readings, system: str) -> str:
    name = {"Darwin": "kern.ipc.somaxconn"}.get(system, "net.core.somaxconn")
    command = "" if system == "Windows" else f" and `sysctl -w {name}=4096` (the lower value applies)"
    return (
        f"Raise the server's backlog (gunicorn: `--backlog 2048`){command}, then add workers, so that connections are "
        f"accepted faster."
    )


def _cpu(readings: Readings, system: str) -> str:
    return f"Add cores, or reduce the work of each request: `py-spy top --pid {_pid(readings)}`, `perf top -p {_pid(readings)}`."


def _single_thread(readings: Readings, system: str) -> str:
    return f"Add workers{{workers}}; `top -H -p {_pid(readings)}` names the thread."


def _memory_leak(readings: Readings, system: str) -> str:
    return (
        f"Profile the target's memory (`memray attach {_pid(readings)}`, tracemalloc, pprof), or restart it before it "
        f"reaches the limit."
    )


def _fd_leak(readings: Readings, system: str) -> str:
    return f"`ls -l /proc/{_pid(readings)}/fd` lists the open files; a higher limit only delays the failure."


def _more_load(readings: Readings, system: str) -> str:
    at_rate = readings.get("offered_at_per_s") is not None
    return "Offer a higher rate: throughput still grows." if at_rate else _text("not_saturated")


def _measured_again(readings: Readings, system: str) -> str:
    at_rate = readings.get("offered_at_per_s") is not None
    advice = _text("noisy_neighbours")
    return advice.replace("the same user counts", "the same offered rates") if at_rate else advice


_BUILT: dict[str, Callable[[Readings, str], str]] = {
    "ephemeral_port_exhaustion": _ports,
    "ephemeral_port_exhaustion_time_wait": _time_wait,
    "ephemeral_port_exhaustion_established": _established,
    "fd_exhaustion_generator": _own_fds,
    "fd_exhaustion_system": _system_fds,
    "conntrack_table_full": _conntrack,
    "time_wait_bucket_overflow": _buckets,
    "fd_exhaustion_target": _target_fds,
    "listen_backlog_overflow": _backlog,
    "target_cpu_saturated": _cpu,
    "single_thread_cpu_saturated": _single_thread,
    "memory_leak": _memory_leak,
    "fd_leak": _fd_leak,
    "not_saturated": _more_load,
    "noisy_neighbours": _measured_again,
}
"""Id to the advice that depends on readings or on the operating system."""


def _pid(readings: Readings) -> str:
    pid = readings.get("pid")
    return str(pid) if isinstance(pid, int) and not isinstance(pid, bool) else "PID"


def _power_of_two(readings: Readings, name: str, least: int) -> int:
    """The smallest power of two that is at least twice the reading and at least `least`."""
    now = readings.get(name)
    if not isinstance(now, int | float) or not 0 < now < 2**40:
        return least
    return max(least, 1 << math.ceil(math.log2(2 * now)))
