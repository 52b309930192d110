"""What the probes read in one tick: plain values with their units in their names.

`None` means "not measured" (no right to read it, not this platform, stale); it is never zero.
CPU ratios are in cores: 1.0 is one core busy.
"""

from __future__ import annotations

import msgspec


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all readings: frozen; the log omits fields that were not measured."""


class CountingReading(Reading, frozen=True, kw_only=True):
    """A reading with counters, as their growth in this tick. Counters that did not grow are 0, and the log omits them: most never
    grow, and a day's log has 86,400 ticks."""

    unread: tuple[str, ...] = ()
    """Counters that could not be read: their 0 means nothing. Nearly all of them in the first tick."""

    def grown(self, counter: str) -> float | None:
        """Growth of a counter; None when it could not be read."""
        grown: float = getattr(self, counter)
        return None if counter in self.unread else grown


class GeneratorReading(Reading, frozen=True, kw_only=True):
    """This process as a load generator; each thread accounted on its own."""

    cpu_ratio: float | None = None
    """On-CPU share of the load thread (the generator proper), in cores."""
    run_delay_ratio: float | None = None
    """Share of the tick in which the load thread was runnable but had no core."""
    screen_cpu_ratio: float | None = None
    """On-CPU share of the main thread: the screen, or the headless progress."""
    recorder_cpu_ratio: float | None = None
    """On-CPU share of the recorder thread: probes, log."""
    process_cpu_ratio: float | None = None
    """All threads of this process together."""
    rss_bytes: int | None = None
    fds: int | None = None
    fds_limit: int | None = None
    loop_lag_p50_ms: float | None = None
    loop_lag_p99_ms: float | None = None
    """Lateness of a 10 ms timer in the load thread's loop: the error bar on every latency."""
    loop_lag_max_ms: float | None = None


class WorkerReading(Reading, frozen=True, kw_only=True):
    """One worker in one tick."""

    name: str
    """`2`, or `2@HOST` on another machine."""
    users: int = 0
    requests: int = 0
    """All that ended, warm-up included."""
    cpu_ratio: float | None = None
    """On-CPU share of its load thread, in cores; of a plain Locust worker: of its process."""
    run_delay_ratio: float | None = None
    loop_lag_p99_ms: float | None = None
    fds: int | None = None
    fds_limit: int | None = None
    ports_used: int | None = None
    """Of the machine that it runs on; None where that is this one."""
    is_late: bool = False
    """It has not reported this tick in time."""


class WorkersReading(Reading, frozen=True, kw_only=True):
    """The worker processes that make the load. `Sample.generator` is the reading of the fullest one."""

    count: int
    fullest: str | None = None
    """Name of the one whose load thread was busy or waited for a core most."""
    late: int = 0
    """Workers that have not reported this tick in time."""
    plain: int = 0
    """Plain Locust workers among them: response times of two digits, failures by text alone, no readings."""
    cpu_ratio: float | None = None
    """Of all load threads together, in cores."""
    here_cpu_ratio: float | None = None
    """Cores used by the worker processes of this machine and this process."""
    rows: tuple[WorkerReading, ...] = ()
    """At most WORKER_ROWS, the fullest ones, in the order in which they joined."""


WORKER_ROWS = 8
"""Workers whose own rows a tick keeps: the log must not grow with their number."""


class TargetReading(CountingReading, frozen=True, kw_only=True):
    """The target's whole process tree (its own readings, not the host's)."""

    pid: int
    alive: bool = True
    processes: int | None = None
    threads: int | None = None
    cpu_ratio: float | None = None
    cpus_allowed: int | None = None
    """Cores that the root process may run on (affinity); None where those are all."""
    busiest_thread_ratio: float | None = None
    """On-CPU share of the busiest single thread of the tree, in cores."""
    run_delay_ratio: float | None = None
    """Runnable without a core, summed over the tree's threads, in cores."""
    throttled_ratio: float | None = None
    """Share of the tick in which its cgroup's quota throttled it; None without a quota."""
    cpu_pressure_ratio: float | None = None
    """PSI cpu "some" of its control group: share of the tick in which a task of it waited for a core. None without version 2."""
    memory_pressure_ratio: float | None = None
    """PSI memory "some" of its control group."""
    rss_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """Of its cgroup; None without one, and in four of five ticks: it is read every 5 s."""
    major_faults_per_s: float = 0.0
    """Counted of processes that run."""
    oom_kills: int = 0
    """Of its cgroup (of the machine where there is no cgroup to read), also when the target is gone."""
    fds: int | None = None
    """Of the whole tree."""
    fds_fullest: int | None = None
    """Of the process that is nearest to its limit."""
    fds_limit: int | None = None
    """RLIMIT_NOFILE (soft) of that process."""
    processes_started: int = 0
    """Members of the tree that were not there a tick ago."""
    processes_ended: int = 0
    """Members that ended in this tick, whether they were waited for or not."""
    ended_by: dict[str, int] = {}
    """Number of them by signal (`SIGKILL`) or exit code (`exit 1`). A process that is missing here ended in an unknown way: the
    kernel reports the exit status to other processes than the parent only since Linux 6.15, and before that only until the parent
    has waited."""
    read_bytes_per_s: float | None = None
    written_bytes_per_s: float | None = None
    disk_free_bytes: int | None = None
    """Of the file system of its working folder; None in four of five ticks: it is read every 5 s."""
    listen_queue: int | None = None
    """Connections that wait in the accept queues of the target's port (Recv-Q of LISTEN)."""
    listen_backlog: int | None = None
    """The accept queue's limit (Send-Q of LISTEN); None where the target is in another network namespace."""


class HostReading(CountingReading, frozen=True, kw_only=True):
    """The machine that both may share. Facts that never change are in the header's HostFacts."""

    cpu_ratio: float | None = None
    """Cores busy."""
    steal_ratio: float | None = None
    """Cores' worth of time stolen by the hypervisor."""
    load_average_1m: float | None = None
    memory_used_bytes: int | None = None
    cpu_pressure_ratio: float | None = None
    """PSI cpu "some": share of the tick in which some task waited for a core."""
    memory_pressure_ratio: float | None = None
    """PSI memory "full"."""
    io_pressure_ratio: float | None = None
    """PSI io "full"."""
    disk_busy_ratio: float | None = None
    """Share of the tick in which the busiest disk had work in flight."""
    received_bytes_per_s: float | None = None
    """All interfaces of this network namespace, loopback included."""
    sent_bytes_per_s: float | None = None
    fds: int | None = None
    """System-wide open files (`file-nr`)."""
    swapped_in_per_s: float = 0.0
    """Pages read back from swap."""
    conntrack: int | None = None
    """Tracked connections; None where there are none, or the kernel tracks none."""


class NeighboursReading(Reading, frozen=True, kw_only=True):
    """Other processes of the machine: neither the target's nor the generator's."""

    cpu_ratio: float | None = None
    """Cores that they use: the host's busy cores less those of the target and of this process. None where one of these was not
    measured, or an unwatched service runs on this machine, which may itself use the CPU."""
    processes: dict[str, float] = {}
    """The three names that use most (comm, no command line), in cores over the last seconds between two readings, three at least.
    Empty while others use less than 0.2 cores, and where they cannot be seen (another container)."""


class PortsReading(Reading, frozen=True, kw_only=True):
    """Ephemeral ports of this network namespace."""

    capacity: int | None = None
    """Size of the range less reserved ports: the most connections to one (address, port) from one address."""
    used: int | None = None
    """Client sockets that hold a port, of the fullest destination when it was dumped, else of all."""
    time_wait: int | None = None
    established: int | None = None
    by_state: dict[str, int] = {}
    """Sockets of `destination` in other states than those two, by name."""
    destination: str | None = None
    """`address:port` of the fullest destination; None when `used` is the total of all."""
    burn_rate_per_s: float | None = None
    """Growth of `used`, smoothed over ten seconds."""
    exhausted_in_s: float | None = None
    """Seconds to `capacity` at that rate; None when it does not grow."""


class TargetTcpReading(Reading, frozen=True, kw_only=True):
    """TCP at the target's port alone, as growth in this tick. Connections that live for less than a tick are seen in part."""

    segments_sent: int = 0
    """By either end where both are in this network namespace, else by the users'."""
    segments_retransmitted: int = 0
    """Retransmitted, minus duplicates that the other end already had (DSACK), as far as the kernel reports them."""
    listen_drops: int = 0
    """Connections that its listeners dropped because their queues were full. Also 0 where the listeners are in another network
    namespace."""
    half_open: int = 0
    """Half-open connections of its listeners (SYN_RECV), now."""


class TcpReading(CountingReading, frozen=True, kw_only=True):
    """Kernel counters (per network namespace), and socket totals."""

    active_opens: int = 0
    passive_opens: int = 0
    attempt_fails: int = 0
    resets_sent: int = 0
    resets_of_established: int = 0
    segments_sent: int = 0
    segments_retransmitted: int = 0
    listen_overflows: int = 0
    listen_drops: int = 0
    syn_queue_full_drops: int = 0
    syncookies_sent: int = 0
    aborts_on_memory: int = 0
    time_wait_overflows: int = 0
    sockets_in_use: int | None = None
    sockets_time_wait: int | None = None
    sockets_orphaned: int = 0
    """Closed by their process, not yet by the other end. A current count, not growth; omitted at 0 as the counters are."""
    memory_pages: int | None = None
    target: TargetTcpReading | None = None
    """None: not measured. All fields above count other processes of the namespace, too."""
