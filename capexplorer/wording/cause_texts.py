"""Texts about each cause, bottleneck and leak of docs/causes.md; `analysis.causes.catalogue` has their location and severity."""

from __future__ import annotations

from dataclasses import dataclass

GROUPS = {"generator": "Generator", "host": "Host", "network": "Network", "target": "Target", "check": "Checks"}
"""Headings for the locations of causes, in the order in which locations are excluded."""


@dataclass(frozen=True, slots=True)
class CauseText:
    """The texts about one id of the catalogue."""

    name: str
    """A clause, such as `packets are lost`."""
    advice: str = ""
    """One line: the first thing to do, then alternatives. `{workers}` and others stand for what the session's target and client
    have (`advice`). Empty: the module `advice` makes it from readings."""
    limiter: str = ""
    """Text after "limited by", for critical causes outside the target, with which a run does not describe the service."""


_CAUSES = {
    "ephemeral_port_exhaustion": CauseText("ephemeral ports exhausted", limiter="the generator's ephemeral ports"),
    "ephemeral_port_exhaustion_time_wait": CauseText(
        "ephemeral ports exhausted (TIME_WAIT)", limiter="the generator's ephemeral ports (TIME_WAIT)"
    ),
    "ephemeral_port_exhaustion_established": CauseText(
        "ephemeral ports exhausted (ESTABLISHED)", limiter="the generator's ephemeral ports (ESTABLISHED)"
    ),
    "fd_exhaustion_generator": CauseText("the generator is out of file descriptors", limiter="the generator's file descriptors"),
    "fd_exhaustion_system": CauseText("the system is out of file descriptors", limiter="the system's file descriptors"),
    "host_not_allowed": CauseText(
        "load to this host is not allowed",
        "Add `--allow-host HOST` if load may go to this host; `--host URL` sets the service to explore.",
        limiter="the guard: load to this host is not allowed",
    ),
    "dns_failure": CauseText(
        "the name does not resolve",
        "Correct the host name (`getent hosts NAME`), or use the address instead.",
        limiter="a name that does not resolve",
    ),
    "host_unreachable": CauseText(
        "no route to the host",
        "Look for a missing route, or for a host that is down: `ip route get ADDRESS`, `ip neigh`.",
        limiter="a missing route to the host",
    ),
    "network_unreachable": CauseText(
        "no route to the network",
        "Add a route or bring the interface up: `ip route get ADDRESS`, `ip link`.",
        limiter="a missing route to the network",
    ),
    "tls_certificate_error": CauseText(
        "the TLS certificate is refused",
        "Use the host name that the certificate was issued for, and a CA that this machine trusts: `openssl s_client "
        "-connect HOST:PORT` shows the certificate.",
        limiter="a TLS certificate that is refused",
    ),
    "tls_handshake_failure": CauseText(
        "the TLS handshake fails",
        "Check the port, and whether the URL should be http or https: `openssl s_client -connect HOST:PORT`.",
        limiter="TLS handshakes that fail",
    ),
    "conntrack_table_full": CauseText("the connection tracking table is full", limiter="the connection tracking table"),
    "tcp_memory_pressure": CauseText(
        "the kernel is short of TCP memory",
        "Use fewer connections, or raise what `sysctl net.ipv4.tcp_mem` shows (pages: low, pressure, high).",
    ),
    "time_wait_bucket_overflow": CauseText("TIME_WAIT buckets overflow"),
    "generator_cpu_saturated": CauseText(
        "the generator's CPU is saturated",
        "Press W for one more worker process, or use `--workers auto`; on a full machine {lean}workers elsewhere. The figures of "
        "these levels do not describe the service.",
        limiter="the generator's CPU",
    ),
    "generator_retry_amplification": CauseText(
        "the HTTP client retries requests by itself",
        "Use fewer users at once: {retries}, and the retries are additional load.",
    ),
    "users_at_cap": CauseText(
        "the pool of users is too small for the rate",
        "Raise `[guards] max_users` in the profile, or offer a lower rate: all users are busy while the service is as quick as "
        "before, so what is dropped says nothing about the service.",
    ),
    "generator_memory": CauseText(
        "the generator's memory grows", "Use fewer users, and do not keep responses in user code: they stay in memory."
    ),
    "user_code_error": CauseText("user code error", "Fix the locustfile: users whose code fails do not send the intended load."),
    "users_stopped": CauseText(
        "users end by themselves",
        "Each is replaced, and a whole flow of such a user counts as its cycle. If test data run out in `on_start`, give the "
        "users more: those that end before their first task make no steady load.",
    ),
    "custom_events": CauseText(
        "events of user code count as requests",
        "Each is about a request that counts already, so goodput and latency include both: report it by an event of its own "
        "(`EventHook`) in place of `events.request`.",
    ),
    "event_loop_blocked": CauseText(
        "user code blocks the event loop",
        "No other user runs while the call that is named waits: use a cooperative driver (PostgreSQL: psycopg, or psycopg2 with "
        "psycogreen) or more worker processes.",
        limiter="user code that blocks the event loop",
    ),
    "load_thread_blocked": CauseText(
        "user code blocks the load thread",
        "Fix the code that is named: it computes or waits without gevent (a busy loop, a C library), and no user runs in "
        "that time. Figures of these seconds do not describe the service.",
        limiter="user code that blocks the load thread",
    ),
    "load_thread_ended": CauseText(
        "the load thread has ended",
        "Start the run again; user code must not end gevent's hub, because all users end with it.",
        limiter="the end of the load thread",
    ),
    "worker_lost": CauseText(
        "a worker was lost",
        "Read why it ended in the log (key o) or on its machine. Its users run in the other workers, in a new level; the "
        "level in which it was lost has no figures.",
    ),
    "unusable_values": CauseText(
        "values that cannot be recorded",
        "The example names one: it is left out, since it is not finite, beyond 64 bits, or one of more than 500 names. Correct "
        "what reports it.",
    ),
    "failed_check": CauseText("failed check", "The service answered, but the check found the answer wrong: read the example."),
    "log_write_failed": CauseText(
        "the session log cannot be written",
        "Free space where sessions are saved (`df -h`): the users were stopped; nothing recorded is lost.",
        limiter="a session log that cannot be written",
    ),
    "connection_churn": CauseText(
        "a new connection for most requests",
        "Keep connections alive: {keep_alive}, and no `Connection: close`.",
    ),
    "target_crashed": CauseText(
        "the target crashed", "Read its last output lines (key o, or the session log) for the reason. Key t starts it again."
    ),
    "target_killed_by_signal": CauseText(
        "the target was killed by a signal", "Find the sender of the signal: `dmesg | tail`, a supervisor, a time limit."
    ),
    "target_oom_killed": CauseText(
        "the target was killed for lack of memory",
        "Raise its memory limit, or find what grows: reports show memory for each level, `dmesg` names the process.",
    ),
    "target_restarted": CauseText(
        "the target's processes restarted",
        "Read {log}: look for workers that time out (gunicorn: `--timeout`) or crash.",
    ),
    "connection_refused": CauseText(
        "connections are refused", "Start the service, or correct the port: `ss -ltnp` lists listening processes."
    ),
    "fd_exhaustion_target": CauseText("the target is out of file descriptors"),
    "listen_backlog_overflow": CauseText("the target's accept queue overflows"),
    "syn_queue_overflow": CauseText(
        "the SYN queue overflows", "`sysctl -w net.ipv4.tcp_max_syn_backlog=8192`, and accept connections faster."
    ),
    "connection_reset": CauseText(
        "connections are reset",
        "Read {log}, and the log of any proxy in front of it: one of them closes connections that are in use.",
    ),
    "keepalive_race": CauseText(
        "idle connections are closed as a request is sent",
        "Set the server's keep-alive timeout longer than the users' think time (gunicorn: `--keep-alive 75`).",
    ),
    "service_closes_connections": CauseText(
        "the service closes most connections before their next request",
        "Turn on keep-alive in the service if its replies have `Connection: close` (`curl -sv URL`), else raise its keep-alive "
        "timeout above the users' think time (gunicorn: `--keep-alive 75`).",
    ),
    "incomplete_response": CauseText(
        "replies are incomplete",
        "Read {log}: replies end early (a crash, a worker's time limit, a wrong Content-Length).",
    ),
    "malformed_response": CauseText(
        "replies are not HTTP",
        "Check the port and the scheme: the server does not speak HTTP there, or a proxy damages the reply.",
    ),
    "body_too_large": CauseText(
        "replies are larger than the limit",
        "Request less, or {larger_bodies}.",
    ),
    "packet_loss": CauseText("packets are lost", "Check the link: `ip -s link`, `tc qdisc show`, `ethtool -S DEVICE`."),
    "part_not_read": CauseText(
        "a watched part cannot be read",
        "Its mark has the last words of its transport, which is started again every few seconds. No bottleneck is "
        "concluded from missing figures.",
    ),
    "rate_limited": CauseText(
        "the service limits the rate (HTTP 429)",
        "A rate limit answers, not the service: raise it for this client, unless the limit is what you explore.",
    ),
    "load_shedding": CauseText(
        "the service refuses requests (HTTP 503)",
        "If only at high load: this is the capacity; add workers or a longer queue. If at any load: read the reply's body.",
    ),
    "server_error": CauseText("server errors (HTTP 5xx)", "Read the traceback in {log}."),
    "bad_gateway": CauseText(
        "bad gateway (HTTP 502)", "Check the upstream behind the proxy: is it running, does it close connections early?"
    ),
    "gateway_timeout": CauseText(
        "gateway timeout (HTTP 504)",
        "The upstream exceeds the proxy's timeout (nginx: `proxy_read_timeout`): find out why before raising it.",
    ),
    "client_error": CauseText(
        "client errors (HTTP 4xx)",
        "Check the test data: paths, ids and tokens of these requests, and whether earlier requests deleted them.",
    ),
    "task_failed_result": CauseText("tasks fail", "Read the job's log: the requests succeed, but the tasks they start fail."),
    "task_timeout": CauseText(
        "tasks exceed their time limit", "Add consumers or submit fewer tasks: tasks wait longer than their users do."
    ),
    "connect_timeout": CauseText(
        "connecting times out",
        "The cause is not known: check the route, the firewall, and the target's accept queue (`ss -ltn`).",
    ),
    "read_timeout": CauseText(
        "replies time out",
        "The cause is not known: the service takes longer than {timeout}; raise it, or check the service's workers.",
    ),
    "unexpected_status": CauseText("unexpected status", "Compare {expected} with the status that the service returns."),
    "unknown": CauseText("failures of unknown cause", "No reading explains these failures: read the raw errors."),
}

_BOTTLENECKS_AND_LEAKS = {
    "think_time_limited": CauseText(
        "the users' think time sets the throughput",
        "Add users or shorten their think time ({wait}) to reach the service's own limit.",
    ),
    "target_cpu_saturated": CauseText("the service's CPU is saturated"),
    "gil_bound": CauseText(
        "the service's CPU is saturated (GIL)",
        "Use more processes, not threads: one GIL limits a process to one core{processes}.",
    ),
    "single_thread_cpu_saturated": CauseText("one thread of the service is saturated"),
    "host_cpu_saturated": CauseText(
        "the host's CPU is saturated",
        "Separate generator and target: two machines, or cores of their own{cores}.",
    ),
    "cpu_throttled": CauseText(
        "the CPU quota throttles the service",
        "Raise the CPU quota (`docker update --cpus N NAME`, Kubernetes: limits.cpu, cgroup: cpu.max).",
    ),
    "cpu_steal": CauseText(
        "the hypervisor takes CPU time (steal)",
        "Use another machine or dedicated cores: the hypervisor gives CPU time to other guests.",
    ),
    "worker_pool_exhausted": CauseText(
        "the service's workers are exhausted", "Add workers: connections wait to be accepted while the CPU is idle{workers}."
    ),
    "lock_or_pool_limit": CauseText(
        "a lock or a pool inside the service is the limit",
        "Find the lock or the pool (threads, connections) that requests wait for, or enlarge it{workers}.",
    ),
    "rate_limit": CauseText(
        "a rate limiter is the limit",
        "A configured rate is the limit: raise it for this client, unless the limit is what you explore.",
    ),
    "queue_growth": CauseText(
        "work is accepted faster than it is finished",
        "Add consumers, or accept less work: at this load the queue grows without bound.",
    ),
    "open_files_limit": CauseText(
        "the limit of open files is reached",
        "Raise its limit (`ulimit -n`, LimitNOFILE of its unit), or look for connections and files that it leaves open.",
    ),
    "connection_limit": CauseText(
        "all connections are in use",
        "Look for who holds its connections; then use a smaller pool in the service, a pooler, or a higher limit.",
    ),
    "lock_waits": CauseText(
        "sessions wait for locks",
        "Look for what holds the lock, and for how long: shorter transactions, rows locked in the same order, less at once.",
    ),
    "unwatched_party": CauseText(
        "requests wait outside of what is watched",
        "Look for a lock or a pool in the parts that it names; watch the other parties too (`--watch NAME=ssh HOST:port N`), "
        "the service itself first.",
    ),
    "memory_saturated": CauseText(
        "memory is exhausted", "Add memory, or use less: `free -m`, and memory for each level in the report."
    ),
    "swapping": CauseText("the host swaps", "Add memory, or use less: `vmstat 1` shows what is swapped in (si)."),
    "disk_saturated": CauseText("the disk is saturated", "Write less or in batches, or use a faster disk: `iostat -x 1`."),
    "disk_full": CauseText("the disk is full", "Free space: `df -h`."),
    "network_bandwidth_saturated": CauseText(
        "the network link is saturated", "Use a faster link, or smaller replies (compression)."
    ),
    "memory_leak": CauseText("the target's memory leaks"),
    "fd_leak": CauseText("the target leaks file descriptors"),
    "not_saturated": CauseText("no limit reached", "Add users: throughput still grows."),
    "generator_shares_host": CauseText(
        "generator and service share a saturated machine",
        "Run the generator on another machine: the service alone may reach a higher capacity.",
    ),
    "noisy_neighbours": CauseText(
        "other processes use the CPU",
        "End the other processes or move them to other cores, then measure the same user counts again.",
    ),
}

TEXTS = {**_CAUSES, **_BOTTLENECKS_AND_LEAKS}
"""Texts by id."""


def name(id: str) -> str:  # noqa: A002 - the log's name for it
    """The name of an id, such as `ephemeral ports exhausted (TIME_WAIT)`; of an unknown id, the id with spaces."""
    return TEXTS[id].name if id in TEXTS else id.replace("_", " ")


def limiter(id: str) -> str:  # noqa: A002
    """The text after "limited by", such as `the generator's ephemeral ports (TIME_WAIT)`."""
    return (TEXTS[id].limiter if id in TEXTS else "") or name(id)
