"""One line of advice for each id of the catalogue, with a command where there is one, for the generator's operating system.

A line names the first thing to do, then alternatives. It quotes readings that it depends on. `cause_names` has the names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from ..model.events import Header
from ..model.findings import Blame, Cause, CurveFinding, Finding, Readings
from ..model.limits import set_limits
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
_OWN_WIDER = "`--limit network.ip_local_port_range=[10000,65535]`"
"""The range leaves ports below 10000 to the target."""
_OWN_REUSE = "reuse ports (`--limit network.tcp_tw_reuse=1`)"
_WORKERS = "`--set workers=N` or `--set threads=N` where the target has it"

ADVICE = {
    "host_not_allowed": "Add `--allow-host HOST` if load may go to this host; `--host URL` sets the service to explore.",
    "dns_failure": "Correct the host name (`getent hosts NAME`), or use the address instead.",
    "host_unreachable": "Look for a missing route, or for a host that is down: `ip route get ADDRESS`, `ip neigh`.",
    "network_unreachable": "Add a route or bring the interface up: `ip route get ADDRESS`, `ip link`.",
    "tls_certificate_error": "Use the host name that the certificate was issued for, and a CA that this machine trusts: "
    "`openssl s_client -connect HOST:PORT` shows the certificate.",
    "tls_handshake_failure": "Check the port, and whether the URL should be http or https: `openssl s_client -connect "
    "HOST:PORT`.",
    "tcp_memory_pressure": "Use fewer connections, or raise what `sysctl net.ipv4.tcp_mem` shows (pages: low, pressure, high).",
    "generator_cpu_saturated": "Press W for one more worker process, or use `--workers auto`; on a full machine the lean client "
    '(`client = "lean"`), or workers elsewhere. The figures of these levels do not describe the service.',
    "generator_retry_amplification": "Use fewer users at once: FastHttpUser retries a request up to 12 times when its "
    "connection is closed, and the retries are additional load.",
    "generator_memory": "Use fewer users, and do not keep responses in user code: they stay in memory.",
    "user_code_error": "Fix the locustfile: users whose code fails do not send the intended load.",
    "load_thread_blocked": "Fix the code that is named: it computes or waits without gevent (a busy loop, a C library), "
    "and no user runs in that time. Figures of these seconds do not describe the service.",
    "load_thread_ended": "Start the run again; user code must not end gevent's hub, because all users end with it.",
    "worker_lost": "Read why it ended in the log (key o) or on its machine. Its users run in the other workers, in a new level; "
    "the level in which it was lost has no figures.",
    "failed_check": "The service answered, but the check found the answer wrong: read the example.",
    "log_write_failed": "Free space where sessions are saved (`df -h`): the users were stopped; nothing recorded is lost.",
    "connection_churn": "Keep connections alive: `keep_alive = true` in the profile; in a locustfile, one client for each user, "
    "and no `Connection: close`.",
    "target_crashed": "Read its last output lines (key o, or the session log) for the reason. Key t starts it again.",
    "target_killed_by_signal": "Find the sender of the signal: `dmesg | tail`, a supervisor, a time limit.",
    "target_oom_killed": "Raise its memory limit, or find what grows: reports show memory for each level, `dmesg` names the "
    "process.",
    "target_restarted": "Read the target's log: look for workers that time out (gunicorn: `--timeout`) or crash.",
    "connection_refused": "Start the service, or correct the port: `ss -ltnp` lists listening processes.",
    "syn_queue_overflow": "`sysctl -w net.ipv4.tcp_max_syn_backlog=8192`, and accept connections faster.",
    "connection_reset": "Read the target's log, and the log of any proxy in front of it: one of them closes connections that "
    "are in use.",
    "keepalive_race": "Set the server's keep-alive timeout longer than the users' think time (gunicorn: `--keep-alive 75`).",
    "service_closes_connections": "Turn on keep-alive in the service (`curl -sv URL` shows `Connection: close` or HTTP/1.0), "
    "unless a connection for each request is what you explore.",
    "incomplete_response": "Read the target's log: replies end early (a crash, a worker's time limit, a wrong Content-Length).",
    "malformed_response": "Check the port and the scheme: the server does not speak HTTP there, or a proxy damages the reply.",
    "body_too_large": "Request less, or raise `max_body_mb` in the profile's [users]; with `stream=True` user code can read "
    "in parts.",
    "packet_loss": "Check the link: `ip -s link`, `tc qdisc show`, `ethtool -S DEVICE`.",
    "rate_limited": "A rate limit answers, not the service: raise it for this client, unless the limit is what you explore.",
    "load_shedding": "If only at high load: this is the capacity; add workers or a longer queue. If at any load: read the "
    "reply's body.",
    "server_error": "Read the traceback in the target's log.",
    "bad_gateway": "Check the upstream behind the proxy: is it running, does it close connections early?",
    "gateway_timeout": "The upstream exceeds the proxy's timeout (nginx: `proxy_read_timeout`): find out why before raising it.",
    "client_error": "Check the test data: paths, ids and tokens of these requests, and whether earlier requests deleted them.",
    "task_failed_result": "Read the job's log: the requests succeed, but the tasks they start fail.",
    "task_timeout": "Add consumers or submit fewer tasks: tasks wait longer than their users do.",
    "connect_timeout": "The cause is not known: check the route, the firewall, and the target's accept queue (`ss -ltn`).",
    "read_timeout": "The cause is not known: the service takes longer than `timeout_s`; raise it, or check the service's "
    "workers.",
    "unexpected_status": "Compare `expect_status` in the profile with the status that the service returns.",
    "unknown": "No reading explains these failures: read the raw errors.",
    "think_time_limited": "Add users or shorten their think time (`wait_s` in the profile) to reach the service's own limit.",
    "gil_bound": "Use more processes, not threads: one GIL limits a process to one core (`--set workers=N` where the target "
    "has it).",
    "host_cpu_saturated": "Separate generator and target: two machines, or cores of their own (`--limit target.cpus=...`).",
    "cpu_throttled": "Raise the CPU quota (`docker update --cpus N NAME`, Kubernetes: limits.cpu, cgroup: cpu.max).",
    "worker_pool_exhausted": f"Add workers: connections wait to be accepted while the CPU is idle ({_WORKERS}).",
    "cpu_steal": "Use another machine or dedicated cores: the hypervisor gives CPU time to other guests.",
    "lock_or_pool_limit": f"Find the lock or the pool (threads, connections) that requests wait for, or enlarge it: {_WORKERS}.",
    "rate_limit": "A configured rate is the limit: raise it for this client, unless the limit is what you explore.",
    "part_not_read": "Its mark has the last words of its transport, which is started again every few seconds. No bottleneck is "
    "concluded from missing figures.",
    "open_files_limit": "Raise its limit (`ulimit -n`, LimitNOFILE of its unit), or look for connections and files that it "
    "leaves open.",
    "connection_limit": "Look for who holds its connections; then use a smaller pool in the service, a pooler, or a higher "
    "limit.",
    "lock_waits": "Look for what holds the lock, and for how long: shorter transactions, rows locked in the same order, less at "
    "once.",
    "unwatched_party": "Watch the other parties too (`--watch NAME=ssh HOST:port N`), the service itself first.",
    "queue_growth": "Add consumers, or accept less work: at this load the queue grows without bound.",
    "memory_saturated": "Add memory, or use less: `free -m`, and memory for each level in the report.",
    "swapping": "Add memory, or use less: `vmstat 1` shows what is swapped in (si).",
    "disk_saturated": "Write less or in batches, or use a faster disk: `iostat -x 1`.",
    "disk_full": "Free space: `df -h`.",
    "network_bandwidth_saturated": "Use a faster link, or smaller replies (compression).",
    "generator_shares_host": "Run the generator on another machine: the service alone may reach a higher capacity.",
    "noisy_neighbours": "End the other processes or move them to other cores, then measure the same user counts again.",
    "not_saturated": "Add users: throughput still grows.",
}  # fmt: skip


def advice(finding: Finding, header: Header | None = None) -> str:
    """What to do about a finding, in one line; empty without advice.

    `header`: the session's header; the generator's operating system and the session's own limits select the commands.
    """
    if isinstance(finding, CurveFinding):
        return "; ".join(map(missing, finding.missing))
    if not isinstance(finding, Blame):
        return ""
    system = header.host.system if header is not None else None
    limits = set_limits(header.profile) if header is not None else {}
    return advice_for(_named(finding), finding.readings, system, limits)


def _named(finding: Blame) -> str:
    """The id whose advice is given: the finding's own, or for an unknown cause that of its most frequent symptom."""
    symptoms = finding.symptoms if isinstance(finding, Cause) and finding.name == "unknown" else {}
    return max(symptoms, key=lambda each: symptoms[each]) if symptoms else finding.name


def advice_for(name: str, readings: Readings, system: str | None = None, limits: Collection[str] = ()) -> str:
    """The advice for one id of the catalogue; empty for an id that this version does not know.

    `system`: Linux (the default), Darwin or Windows. `limits`: keys that the session's profile sets
    (`model.limits.set_limits`); changing a sysctl of the machine does not raise those.
    """
    limited, built = _LIMITED.get(name), _BUILT.get(name)
    own = limited(readings, limits) if limited is not None else ""
    return own or (built(readings, system or "Linux") if built is not None else ADVICE.get(name, ""))


# -- limits set by the session's own profile


def _own_ports(readings: Readings, limits: Collection[str]) -> str:
    return f"Keep connections alive (`keep_alive = true`), or widen the range: {_OWN_WIDER}." if _has_namespace(limits) else ""


def _own_time_wait(readings: Readings, limits: Collection[str]) -> str:
    sentence = f"Keep connections alive (`keep_alive = true`), or {_OWN_REUSE}, or widen the range: {_OWN_WIDER}."
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


# -- limits of the machine


def _ports(readings: Readings, system: str) -> str:
    return f"Keep connections alive (`keep_alive = true`), or widen the range: {_wider(system)}."


def _time_wait(readings: Readings, system: str) -> str:
    reuse = _REUSE.get(system, _REUSE["Linux"])
    return f"Keep connections alive (`keep_alive = true`), or {reuse}, or widen the range: {_wider(system)}."


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
    return f"Add workers (`--set workers=N` where the target has it); `top -H -p {_pid(readings)}` names the thread."


def _memory_leak(readings: Readings, system: str) -> str:
    return (
        f"Profile the target's memory (`memray attach {_pid(readings)}`, tracemalloc, pprof), or restart it before it "
        f"reaches the limit."
    )


def _fd_leak(readings: Readings, system: str) -> str:
    return f"`ls -l /proc/{_pid(readings)}/fd` lists the open files; a higher limit only delays the failure."


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
}


def _pid(readings: Readings) -> str:
    pid = readings.get("pid")
    return str(pid) if isinstance(pid, int) and not isinstance(pid, bool) else "PID"


def _power_of_two(readings: Readings, name: str, least: int) -> int:
    """The smallest power of two that is at least twice the reading and at least `least`."""
    now = readings.get(name)
    if not isinstance(now, int | float) or not 0 < now < 2**40:
        return least
    return max(least, 1 << math.ceil(math.log2(2 * now)))
