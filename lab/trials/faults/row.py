"""A row of the matrix: the fault, how it is injected, and which marks are right. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Client = Literal["fast", "requests", "lean"]
CLIENTS: tuple[Client, ...] = ("fast", "requests", "lean")

Family = Literal["generator", "host", "network", "target", "http", "bottleneck", "limits", "moving", "healthy"]
FAMILIES: tuple[Family, ...] = ("generator", "host", "network", "target", "http", "bottleneck", "limits", "moving", "healthy")

Param = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One fault."""

    name: str
    family: Family
    fault: str
    """The fault in one line."""
    expected: tuple[str, ...]
    """Ids that must be marked, each of them."""
    one_of: tuple[str, ...] = ()
    """At least one of these must be marked, too."""
    also_true: Mapping[str, str] = field(default_factory=dict)
    """Other ids that are true of this fault, with the reason; no further mark of severity error or above may be made."""
    clients: tuple[Client, ...] = CLIENTS
    plan: str = "8:9s"
    short: str = ""
    """A shorter plan that shows the fault, for `make test`; empty: not run there."""

    users_of_each_process: bool = False
    """The plan's users exceed a limit of one process; with workers each worker gets as many users."""

    one_process: str = ""
    """Why its fault shows only with all users in one process; empty: it shows with workers too."""

    target: str = "faulty"
    """The service: a folder of targets/."""
    act: str = "ok"
    """What the target `faulty` does with each request: a name in its `acts.py` or `served.py`."""
    params: Mapping[str, Param] = field(default_factory=dict)
    wait_s: str = ""
    """As in a profile; 0.05-0.15 s unless given."""
    keep_alive: bool = True
    timeout_s: float = 30.0
    task: Mapping[str, Param] = field(default_factory=lambda: {"name": "/work"})
    locustfile: str = ""
    """A file of locustfiles/ in place of `task`."""
    needs: str = ""
    """A program that the service needs."""
    profile: str = ""
    """A shipped profile in place of all fields above except `wait_s`; its users get the row's client."""

    served_by: Literal["capexplorer", "trial", "nobody"] = "capexplorer"
    """Who starts the service: capexplorer; the trial itself, so that capexplorer finds it by its port; nobody."""
    tls: bool = False
    """The service that the trial starts speaks TLS, with a self-signed certificate."""
    host: str = ""
    """URL to which load goes, if it is not that of the service; `{port}` is replaced by the service's port."""
    arguments: tuple[str, ...] = ()
    """Further arguments of `capexplorer run`."""
    exit_codes: tuple[int, ...] = (0, 4)
    """Exit codes that are right; 4 if no request succeeded."""
    reported: Mapping[str, str] = field(default_factory=dict)
    """Ids of marks that cannot be in the log, each with words that stderr must have instead."""

    namespace: tuple[str, ...] = ()
    """Shell lines that prepare its network namespace for the fault."""
    before: tuple[str, ...] = ()
    """Command prefix of capexplorer, such as `taskset -c 0`; it applies to all that capexplorer starts."""
    busy_cores: tuple[int, ...] = ()
    """Cores on each of which four busy processes run. A service that the trial starts is pinned to the other core."""
    neighbours: tuple[Literal["cpu", "memory", "disk", "idle"], ...] = ()
    """Processes that run on each core, by what they use (`neighbour.py`)."""
    neighbours_at: tuple[int, int] = (0, 0)
    """Indices of the first and the last level at which neighbours are active."""
    no_knee: bool = False
    """No point of the capacity curve may be marked."""
    cgroups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each controller of the service's cgroup the contents of its files."""
    small_disk: str = ""
    """Size of the file system on which the session is saved; empty: the machine's own."""
    small_folder: str = ""
    """Size of the file system to which the service writes; empty: the machine's own."""

    @property
    def needs_root(self) -> str:
        """What the row needs root for; empty: it does not need root."""
        reasons = {
            "a network namespace": self.namespace,
            "cgroups": self.cgroups,
            "a mount": self.small_disk or self.small_folder,
        }
        return ", ".join(what for what, wanted in reasons.items() if wanted)

    @property
    def programs(self) -> tuple[str, ...]:
        """Programs that the row needs, beside capexplorer and the service."""
        runs = {
            self.needs: self.needs,
            "openssl": self.tls,
            "taskset": self.busy_cores or "taskset" in self.before,
            "sysctl": any("sysctl" in line for line in self.namespace),
            "unshare": self.small_disk or self.small_folder,
        }
        return tuple(program for program, is_run in runs.items() if is_run)
