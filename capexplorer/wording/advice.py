"""The advice for a finding, in one line: a fixed text, or one made from readings, operating system, the session's own limits, and
what its target and client have: no advice names a parameter or an option that they do not have.

A line names the first thing to do, then alternatives. It contains the readings that it depends on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from ..model.catalogue import ENTRIES
from ..model.events import Header, clients_of
from ..model.experiments import LimitCause
from ..model.findings import Blame, Bottleneck, Cause, CurveFinding, Finding, Readings
from ..model.limits import limits_in_profile
from .knee_sentences import missing

_WIDER = {
    "Linux": '`sysctl -w net.ipv4.ip_local_port_range="1024 65535"`',
    "Darwin": "`sysctl -w net.inet.ip.portrange.first=1024`",
    "Windows": "`netsh int ipv4 set dynamicport tcp start=1025 num=64510`",
    "own": "`--limit network.ip_local_port_range=[10000,65535]`",
}
"""By operating system; `own`: in the session's own network namespace, where the range leaves ports below 10000 to the target."""
_REUSE = {
    "Linux": "reuse ports (`sysctl -w net.ipv4.tcp_tw_reuse=1`)",
    "Darwin": "free them sooner (`sysctl -w net.inet.tcp.msl=1000`)",
    "Windows": "free them sooner (registry: Tcpip\\Parameters\\TcpTimedWaitDelay=30)",
    "own": "reuse ports (`--limit network.tcp_tw_reuse=1`)",
}
_ACCEPTED_MOST = {
    "Linux": " and `sysctl -w net.core.somaxconn=4096` (the lower value applies)",
    "Darwin": " and `sysctl -w kern.ipc.somaxconn=4096` (the lower value applies)",
    "Windows": "",
    "own": " and `--limit network.somaxconn=4096` (the lower value applies)",
}
_PROXY_PORTS = (
    "Let the proxy keep its connections to the upstream (nginx: `keepalive 64` in `upstream`), or widen the range of ports on "
    "its machine (`net.ipv4.ip_local_port_range`)."
)


class _Asked(msgspec.Struct, frozen=True):
    """What the options of a text are chosen by. None: not known, as on the page of all causes; the text then says where each
    option exists.
    """

    readings: Readings
    left: Collection[LimitCause] = ()
    """What experiments leave of the causes of a limit; empty: not known."""
    without_effect: Collection[str] = ()
    """Parameters of the target by which they changed nothing."""
    system: str = "Linux"
    limits: Collection[str] = ()
    """Keys that the session's profile sets; changing a sysctl of the machine does not raise those."""
    params: tuple[str, ...] | None = None
    """Parameters of the target, for `--set`."""
    clients: tuple[str, ...] | None = None
    """Client classes of the users."""
    has_locustfile: bool | None = None
    """Whether the users are those of a locustfile, else of a profile."""
    is_started: bool | None = None
    """Whether capexplorer started the target."""

    @property
    def place(self) -> str:
        """The key of _WIDER and others."""
        if any(key.startswith("network.") for key in self.limits):
            return "own"
        return self.system if self.system in _WIDER else "Linux"

    @property
    def at_rate(self) -> bool:
        """Whether the finding was made at an offered rate."""
        return self.readings.get("offered_at_per_s") is not None


def _in_session(asked: _Asked, header: Header) -> _Asked:
    users = header.profile.get("users")
    return replace(
        asked,
        system=header.host.system or "Linux",
        limits=limits_in_profile(header.profile),
        params=tuple(header.target.params),
        clients=clients_of(header),
        has_locustfile=isinstance(users, dict) and bool(users.get("locustfile")),
        is_started=bool(header.target.command),
    )


def advice(finding: Finding, header: Header | None = None) -> str:
    """What to do about a finding, in one line; empty without advice.

    `header`: the session's header; the generator's operating system and the session's own limits select the commands.
    """
    if isinstance(finding, CurveFinding):
        return "; ".join(map(missing, finding.missing))
    if not isinstance(finding, Blame):
        return ""
    asked = _Asked(finding.readings)
    if isinstance(finding, Bottleneck):
        at_rate: Readings = {} if finding.offered_at_per_s is None else {"offered_at_per_s": finding.offered_at_per_s}
        asked = _Asked({**finding.readings, **at_rate}, finding.left, finding.without_effect)
    advised = _filled(_named(finding), asked if header is None else _in_session(asked, header))
    logged = finding.logged.replace("`", "'").rstrip(".") if isinstance(finding, Cause) else ""  # backquotes enclose commands
    return f"Its log: {logged}. {advised}" if logged else advised


def _named(finding: Blame) -> str:
    """The id whose advice is given: the finding's own, or for an unknown cause that of its most frequent symptom."""
    symptoms = finding.symptoms if isinstance(finding, Cause) and finding.name == "unknown" else {}
    return max(symptoms, key=lambda each: symptoms[each]) if symptoms else finding.name


def advice_for(name: str, readings: Readings, system: str | None = None, limits: Collection[str] = ()) -> str:
    """The advice for one id of the catalogue; empty for an id that this version does not know.

    `system`: Linux (the default), Darwin or Windows. `limits`: keys that the session's profile sets
    (`model.limits.limits_in_profile`).
    """
    return _filled(name, _Asked(readings, system=system or "Linux", limits=limits))


def _filled(name: str, asked: _Asked) -> str:
    if asked.readings.get("proxy") == "no_local_port":
        return _PROXY_PORTS
    text = ENTRIES[name].advice if name in ENTRIES else ""
    return _OPTION.sub(lambda option: _words(option[1], asked), text)


_OPTION = re.compile(r"\{(\w+)\}")


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
    "log": ("the target's log (key O)", "the service's own log"),
    "cores": (" (`--limit target.cpus=...`)", ""),
}
"""By option: (for a target that capexplorer started, for a service that was running)."""


def _words(option: str, asked: _Asked) -> str:
    """The text of an option, such as ` (`--set threads=N`)` for `workers`; empty if the session has none."""
    if option in _PARAMETERS:
        return _set(asked, *_PARAMETERS[option])
    if option in _BY_FILE:
        return _BY_FILE[option][bool(asked.has_locustfile)]
    if option in _BY_TARGET:
        return _BY_TARGET[option][asked.is_started is False]
    if option in _TWICE:
        return str(_power_of_two(asked.readings, *_TWICE[option]))
    return _MADE[option](asked)


def _set(asked: _Asked, pattern: str, usual: Sequence[str]) -> str:
    """The parameters of the target whose names match, as options; where the target is not known, the usual ones."""
    if asked.params is None:
        return f" ({' or '.join(f'`--set {name}=N`' for name in usual)} where the target has it)"
    found = [name for name in asked.params if re.search(pattern, name, re.IGNORECASE) and name not in asked.without_effect]
    return f" ({' or '.join(f'`--set {name}=N`' for name in found[:3])})" if found else ""


def _held(asked: _Asked) -> str:
    """What requests wait for, as far as experiments tell."""
    names = {"lock": "the lock", "pool": "the pool (threads, connections)", "rate_limit": "the rate limiter"}
    return " or ".join(names[cause] for cause in names if cause in (asked.left or ("lock", "pool"))) or "what it is"


def _or_enlarge(asked: _Asked) -> str:
    is_ruled_out = bool(asked.left) and "pool" not in asked.left
    return "" if is_ruled_out else f", or enlarge it{_set(asked, *_PARAMETERS['workers'])}"


def _lean(asked: _Asked) -> str:
    if asked.clients is not None and set(asked.clients) <= {"LeanHttpUser"}:
        return ""
    if asked.has_locustfile:
        return "`LeanHttpUser` as their class, or "
    return 'the lean client (`client = "lean"`), or '


def _retries(asked: _Asked) -> str:
    if asked.clients is None or "FastHttpUser" in asked.clients:
        return "FastHttpUser retries a request up to 12 times when its connection is closed"
    return "the adapter that the locustfile mounts retries requests"


# -- limits of the machine, or of the session itself

_TWICE = {
    "fds": ("fds_limit", 65_536),
    "fds_of_system": ("fds_limit_of_system", 1_048_576),
    "tracked": ("conntrack_max", 262_144),
    "buckets": ("tcp_max_tw_buckets", 262_144),
}
"""By option: the reading that a new value is at least twice as much as, and the least value."""


def _more_fds(asked: _Asked, side: Literal["generator", "target"]) -> str:
    """How to raise a limit of open files."""
    key, limit = f"{side}.open_files", _power_of_two(asked.readings, *_TWICE["fds"])
    if key in asked.limits:
        return f"The session's own limit applies: use `--limit {key}={limit}`, or remove it."
    if side == "target":
        return (
            f"Raise the limit where the target is started (`ulimit -n {limit}`, systemd: LimitNOFILE={limit}); check for a "
            f"leak: `ls -l /proc/{_pid(asked)}/fd` lists open files."
        )
    if asked.system == "Windows":
        return "Use fewer users in one process: Windows has no limit on open files that could be raised."
    return f"Raise the limit before the run: `ulimit -n {limit}` (the hard limit as root, or in /etc/security/limits.conf)."


def _pid(asked: _Asked) -> str:
    pid = asked.readings.get("pid")
    return str(pid) if isinstance(pid, int) and not isinstance(pid, bool) else "PID"


_MADE: dict[str, Callable[[_Asked], str]] = {
    "held": _held,
    "or_enlarge": _or_enlarge,
    "lean": _lean,
    "retries": _retries,
    "pid": _pid,
    "wider": lambda asked: _WIDER[asked.place],
    "or_addresses": lambda asked: "" if asked.place == "own" else ", or add addresses",
    "reuse": lambda asked: _REUSE[asked.place],
    "accepted_most": lambda asked: _ACCEPTED_MOST[asked.place],
    "file_max": lambda asked: "kern.maxfiles" if asked.system == "Darwin" else "fs.file-max",
    "fds_of_generator": lambda asked: _more_fds(asked, "generator"),
    "fds_of_target": lambda asked: _more_fds(asked, "target"),
    "more_load": lambda asked: "Offer a higher rate" if asked.at_rate else "Add users",
    "loads": lambda asked: "offered rates" if asked.at_rate else "user counts",
}
"""Other options."""


def _power_of_two(readings: Readings, name: str, least: int) -> int:
    """The smallest power of two that is at least twice the reading and at least `least`."""
    now = readings.get(name)
    if not isinstance(now, int | float) or not 0 < now < 2**40:
        return least
    return max(least, 1 << math.ceil(math.log2(2 * now)))
