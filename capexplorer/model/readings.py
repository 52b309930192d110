"""The readings of the probes in one tick: plain values with their units in their names.

`None` means "not measured" (no permission, another platform, a stale value); it never means zero. CPU ratios are in cores: 1.0 is
one busy core.
"""

from __future__ import annotations

import msgspec


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all readings: frozen; the log omits fields that were not measured."""


class CountingReading(Reading, frozen=True, kw_only=True):
    """A reading with counters, given as their growth in this tick.

    The log omits counters that did not grow: most never do, and a day's log has 86,400 ticks.
    """

    unread: tuple[str, ...] = ()
    """Counters that could not be read, and are 0. In the first tick these are nearly all."""

    def grown(self, counter: str) -> float | None:
        """Growth of a counter; None when it could not be read."""
        grown: float = getattr(self, counter)
        return None if counter in self.unread else grown


class GeneratorReading(Reading, frozen=True, kw_only=True):
    """The generator's process, with its threads measured separately."""

    cpu_ratio: float | None = None
    """On-CPU share of the load thread, in cores."""
    run_delay_ratio: float | None = None
    """Share of the tick in which the load thread was runnable but had no core."""
    screen_cpu_ratio: float | None = None
    """On-CPU share of the main thread: the screen, or the headless progress."""
    recorder_cpu_ratio: float | None = None
    """On-CPU share of the pump: probes, log."""
    process_cpu_ratio: float | None = None
    """On-CPU share of all threads of this process together, in cores."""
    rss_bytes: int | None = None
    fds: int | None = None
    fds_limit: int | None = None
    loop_lag_p50_ms: float | None = None
    loop_lag_p99_ms: float | None = None
    loop_lag_max_ms: float | None = None
    """Lateness of a 10 ms timer in the load thread's loop: latencies may be too long by as much."""
    blocked_at: str | None = None
    """`FILE:LINE in FUNCTION` of user code that held the loop at the end of the tick."""


class WorkerReading(Reading, frozen=True, kw_only=True):
    """One worker in one tick."""

    name: str
    """`2`, or `2@HOST` on another machine."""
    users: int = 0
    requests: int = 0
    """Requests that ended, warm-up included."""
    cpu_ratio: float | None = None
    """On-CPU share of its load thread, in cores; for a plain Locust worker that of its process."""
    run_delay_ratio: float | None = None
    loop_lag_p99_ms: float | None = None
    fds: int | None = None
    fds_limit: int | None = None
    ports_used: int | None = None
    """Ephemeral ports used on its machine; None on this machine."""
    is_late: bool = False
    """Whether it has not reported this tick in time."""


class WorkersReading(Reading, frozen=True, kw_only=True):
    """The worker processes that generate the load. `Sample.generator` is the reading of the fullest one."""

    count: int
    fullest: str | None = None
    """Name of the worker whose load thread was on a CPU or waited for one for the greatest share of time."""
    late: int = 0
    """Workers that have not reported this tick in time."""
    plain: int = 0
    """Number of plain Locust workers: these report response times of two digits, failures only as text, and no readings."""
    cpu_ratio: float | None = None
    """On-CPU share of all load threads together, in cores."""
    here_cpu_ratio: float | None = None
    """Cores used by the worker processes on this machine and by this process."""
    rows: tuple[WorkerReading, ...] = ()
    """The WORKER_ROWS fullest workers, in the order in which they joined."""


WORKER_ROWS = 8
"""Greatest number of workers with a row of their own in a tick: the log must not grow with the number of workers."""


class TargetReading(CountingReading, frozen=True, kw_only=True):
    """The whole process tree of the target."""

    pid: int
    alive: bool = True
    processes: int | None = None
    threads: int | None = None
    cpu_ratio: float | None = None
    cpus_allowed: int | None = None
    """Cores that the root process may run on (affinity); None: all."""
    busiest_thread_ratio: float | None = None
    """On-CPU share of the busiest single thread of the tree, in cores."""
    run_delay_ratio: float | None = None
    """Time for which threads of the tree were runnable without a core, summed over them, in cores."""
    throttled_ratio: float | None = None
    """Share of the tick in which its cgroup's quota throttled it; None without a quota."""
    cpu_pressure_ratio: float | None = None
    """PSI cpu "some" of its control group: share of the tick in which a task of it waited for a core. None without version 2."""
    memory_pressure_ratio: float | None = None
    """PSI memory "some" of its control group."""
    rss_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """Memory limit of its cgroup; None without one, and in four of five ticks, since it is read every 5 s."""
    major_faults_per_s: float = 0.0
    """Major page faults of its running processes."""
    oom_kills: int = 0
    """Processes killed for lack of memory in its cgroup (on the machine, if its cgroup cannot be read), also after the target has
    ended."""
    fds: int | None = None
    """Open files of the whole tree."""
    fds_fullest: int | None = None
    """Open files of the process that is nearest to its limit."""
    fds_limit: int | None = None
    """RLIMIT_NOFILE (soft) of that process."""
    processes_started: int = 0
    """Processes of the tree that did not exist a tick ago."""
    processes_ended: int = 0
    """Processes of the tree that ended in this tick, whether their parent has waited for them or not."""
    ended_by: dict[str, int] = {}
    """Number of ended processes by signal (`SIGKILL`) or exit code (`exit 1`). Those missing here ended in an unknown way: before
    Linux 6.15, the kernel reports the exit status to processes other than the parent only until the parent has waited."""
    read_bytes_per_s: float | None = None
    written_bytes_per_s: float | None = None
    disk_free_bytes: int | None = None
    """Free bytes of the file system of its working folder; None in four of five ticks, since it is read every 5 s."""
    listen_queue: int | None = None
    """Connections in the accept queues of the target's port (Recv-Q of LISTEN)."""
    listen_backlog: int | None = None
    """Limit of the accept queue (Send-Q of LISTEN); None if the target is in another network namespace."""


class HostReading(CountingReading, frozen=True, kw_only=True):
    """The machine, which generator and target may share. Facts that never change are in the header's HostFacts."""

    cpu_ratio: float | None = None
    """Busy cores."""
    steal_ratio: float | None = None
    """CPU time that the hypervisor gave to others (steal), in cores."""
    load_average_1m: float | None = None
    memory_used_bytes: int | None = None
    cpu_pressure_ratio: float | None = None
    """PSI cpu "some": share of the tick in which some task waited for a core."""
    memory_pressure_ratio: float | None = None
    """PSI memory "full": share of the tick in which all tasks waited for memory."""
    io_pressure_ratio: float | None = None
    """PSI io "full": share of the tick in which all tasks waited for I/O."""
    disk_busy_ratio: float | None = None
    """Share of the tick in which the busiest disk had work in flight."""
    disk_bytes_per_s: float | None = None
    """Bytes that this disk read and wrote."""
    received_bytes_per_s: float | None = None
    """Received by all interfaces of this network namespace, loopback included; the same for sent."""
    sent_bytes_per_s: float | None = None
    fds: int | None = None
    """Open files of all processes (`file-nr`)."""
    swapped_in_per_s: float = 0.0
    """Pages read back from swap, per second."""
    conntrack: int | None = None
    """Tracked connections; None if there are none, or the kernel tracks none."""


class NeighboursReading(Reading, frozen=True, kw_only=True):
    """Other processes on the machine ("neighbours"): neither the target's, nor the generator's, nor a watched part's."""

    cpu_ratio: float | None = None
    """Cores that they use: busy cores of the host minus those used by the target and by this process. None if one of these was
    not measured, or if an unwatched service runs on this machine, which may itself use the CPU."""
    processes: dict[str, float] = {}
    """Cores used by the three busiest process names (comm, without command line), over at least the last three seconds. Empty
    while others use less than 0.2 cores, and if they cannot be seen (another container)."""


class PortsReading(Reading, frozen=True, kw_only=True):
    """Ephemeral ports of this network namespace."""

    capacity: int | None = None
    """Size of the port range minus reserved ports: the greatest number of connections from one address to one (address, port)."""
    used: int | None = None
    """Client sockets with a port: those to `destination`, or all if it is None."""
    time_wait: int | None = None
    established: int | None = None
    by_state: dict[str, int] = {}
    """Sockets to `destination` in states other than TIME_WAIT and ESTABLISHED, by state."""
    destination: str | None = None
    """`address:port` of the destination with most sockets; None if `used` is the total of all."""
    burn_rate_per_s: float | None = None
    """Growth of `used`, smoothed over ten seconds."""
    exhausted_in_s: float | None = None
    """Seconds until `capacity` is reached at that rate; None if `used` does not grow."""


class TargetTcpReading(Reading, frozen=True, kw_only=True):
    """TCP at the target's port only, as growth in this tick. Connections shorter than a tick are counted in part."""

    segments_sent: int = 0
    """Segments sent by both ends if both are in this network namespace, else by the users' end."""
    segments_retransmitted: int = 0
    """Retransmitted segments, minus duplicates that the other end already had (DSACK), as far as the kernel reports them."""
    listen_drops: int = 0
    """Connections that the target's listeners dropped because their queues were full; 0 also if the listeners are in another
    network namespace."""
    half_open: int = 0
    """Half-open connections of the target's listeners (SYN_RECV) at the end of the tick."""


class TcpReading(CountingReading, frozen=True, kw_only=True):
    """Kernel counters of the network namespace, other processes in it included, and numbers of sockets."""

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
    """Sockets closed by their process, not yet by the other end. A current number, not growth; the log omits 0."""
    memory_pages: int | None = None
    sending_sockets: float | None = None
    """Mean number of sockets of the target's port, of both ends, with data that the other end has not acknowledged, without
    `unread_sockets`. None if the target's end is in another network namespace or on another machine."""
    unread_sockets: float | None = None
    """Mean number of those whose data waits until the program of the other end reads (its window is full)."""
    unsent_bytes: int | None = None
    """Bytes that wait in the sending sockets at the end of the tick."""
    queued_bytes: int | None = None
    """Bytes that wait in the queues of this namespace's interfaces at the end of the tick."""
    queue_bytes_per_s: float | None = None
    """Bytes that left the interface's queue in which most wait; None if none waits."""
    target: TargetTcpReading | None = None
    """The target's port only; None: not measured."""


class PartReading(Reading, frozen=True, kw_only=True):
    """One part in one tick, in the structs used for target and host, so that the same rules and panes apply. Readings are None in
    a tick without a new one: none is counted twice."""

    name: str
    age_s: float | None = None
    """Age of the latest reading at the end of the tick; None: there has been none yet."""
    target: TargetReading | None = None
    """Its processes; None also if only the machine is watched."""
    host: HostReading | None = None
    """Its machine."""
    neighbours: NeighboursReading | None = None
    """Other processes on its machine, the reader included."""
    server: dict[str, float] = {}
    """The server's own figures, by name, if a URL was given for them."""
    reader_cpu_ratio: float | None = None
    """Cores that the reader used."""

    @property
    def is_new(self) -> bool:
        """Whether a reading was taken since the last tick."""
        return self.host is not None or bool(self.server)

    @property
    def is_watched(self) -> bool:
        """Whether its latest reading is recent. A reader that uses much CPU reads less often than once a second."""
        return self.age_s is not None and self.age_s < LATE_S


LATE_S = 3.0
"""The latest reading is stale from this age on; normally one comes each second."""

LOST_S = 5.0
"""The part is marked as not read from this age on."""
