"""One line of advice for each id of the catalogue, with the command if there is one, for the generator's system unless it says
more.

A line says what to do first, then what else. Readings go in where they decide something. `cause_names` has the names.
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
    "Linux": "use ports again (`sysctl -w net.ipv4.tcp_tw_reuse=1`)",
    "Darwin": "free them sooner (`sysctl -w net.inet.tcp.msl=1000`)",
    "Windows": "free them sooner (registry: Tcpip\\Parameters\\TcpTimedWaitDelay=30)",
}
_OWN_WIDER = "`--limit network.ip_local_port_range=[10000,65535]`"
"""The range leaves ports below 10000 to the target."""
_OWN_REUSE = "use ports again (`--limit network.tcp_tw_reuse=1`)"
_WORKERS = "`--set workers=N` or `--set threads=N` where the target has it"

ADVICE = {
    "host_not_allowed": "Name the host with `--allow-host HOST` if load may go there; `--host URL` names the one to explore.",
    "dns_failure": "Mend the name (`getent hosts NAME`), or use the address instead.",
    "host_unreachable": "Find the missing route or the host that is down: `ip route get ADDRESS`, `ip neigh`.",
    "network_unreachable": "Add a route or bring the interface up: `ip route get ADDRESS`, `ip link`.",
    "tls_certificate_error": "Use the name that the certificate is for, and a CA that this machine trusts: "
    "`openssl s_client -connect HOST:PORT` shows what it sends.",
    "tls_handshake_failure": "Check https against http, and the port: `openssl s_client -connect HOST:PORT`.",
    "tcp_memory_pressure": "Use fewer connections, or raise what `sysctl net.ipv4.tcp_mem` shows (pages: low, pressure, high).",
    "generator_cpu_saturated": 'Use the leaner client (`client = "fast"`), fewer requests a second from this process, '
    "or another machine; take no figure of these levels for the service's.",
    "generator_retry_amplification": "Use fewer users at once: FastHttpUser repeats up to 12 times what a closed connection "
    "lost, which is load of its own.",
    "generator_memory": "Use fewer users, and keep less in user code: responses that are kept stay in memory.",
    "user_code_error": "Mend the locustfile: a user whose code fails does not make the load that was asked for.",
    "load_thread_blocked": "Mend the place that is named: it computes or waits without gevent (a busy loop, a C library), "
    "so no user runs meanwhile. Figures of these seconds say nothing about the service.",
    "load_thread_ended": "Start the run again; user code must leave gevent's hub alone. All users ended with it.",
    "failed_check": "The service answered, but the check says wrongly: read the example.",
    "log_write_failed": "Free space where sessions are saved (`df -h`): users went to zero, and nothing recorded is lost.",
    "connection_churn": "Keep connections alive (`keep_alive = true` in the profile), and see whether the service closes them: "
    "`curl -sv URL` shows `Connection: close`.",
    "target_crashed": "Read its last output lines (key o, or the session log): they tell why. t starts it again.",
    "target_killed_by_signal": "Find out who sent the signal: `dmesg | tail`, a supervisor, a time limit.",
    "target_oom_killed": "Raise its memory limit, or find what grows: reports have memory by level, `dmesg` names the process.",
    "target_restarted": "Read the target's log: a worker that times out (gunicorn: `--timeout`) or crashes.",
    "connection_refused": "Start the service, or mend the port: `ss -ltnp` shows who listens.",
    "syn_queue_overflow": "`sysctl -w net.ipv4.tcp_max_syn_backlog=8192`, and accept faster.",
    "connection_reset": "Read the target's log, and that of any proxy before it: something closes connections that are in use.",
    "keepalive_race": "Let the server keep idle connections for longer than users wait (gunicorn: `--keep-alive 75`).",
    "incomplete_response": "Read the target's log: it breaks off in mid-reply (a crash, a worker's time limit, a wrong length).",
    "malformed_response": "Check the port and the scheme: what answers there does not speak HTTP, or a proxy spoils it.",
    "body_too_large": "Ask for less, or raise `max_body_mb` in the profile's [users]; with `stream=True` code may read in parts.",
    "packet_loss": "Look at the link: `ip -s link`, `tc qdisc show`, `ethtool -S DEVICE`.",
    "rate_limited": "A limit answers, not the service: raise it for this client, unless it is what you explore.",
    "load_shedding": "At high load only: the capacity, until workers or queue are added. At any load: read the reply's body.",
    "server_error": "Read the traceback in the target's log.",
    "bad_gateway": "Look at the upstream behind the proxy: is it up, does it close connections early?",
    "gateway_timeout": "The upstream is slower than the proxy waits (nginx: `proxy_read_timeout`): find out why, then raise it.",
    "client_error": "Check the test data: paths, ids and tokens of these requests, and what earlier ones deleted.",
    "task_failed_result": "Read the job's log: requests succeed, the work behind them fails.",
    "task_timeout": "More consumers, or fewer tasks: they wait longer than their users do.",
    "connect_timeout": "Not resolved further: look at the route, the firewall, and the target's accept queue (`ss -ltn`).",
    "read_timeout": "Not resolved further: the service takes longer than `timeout_s`; raise that, or look at its workers.",
    "unexpected_status": "Compare `expect_status` in the profile with what the service answers.",
    "unknown": "No reading explains these: read the raw errors.",
    "think_time_limited": "Add users or shorten their waits (`wait_s` in the profile) to reach the service's own limit.",
    "gil_bound": "Use more processes, not threads, since a GIL gives one core in all: `--set workers=N` where the target has it.",
    "host_cpu_saturated": "Separate generator and target: two machines, or cores of their own (`--limit target.cpus=...`).",
    "cpu_throttled": "Raise the CPU quota (`docker update --cpus N NAME`, Kubernetes: limits.cpu, cgroup: cpu.max).",
    "worker_pool_exhausted": f"Add workers, since connections wait to be accepted while the CPU is idle: {_WORKERS}.",
    "cpu_steal": "Use another machine, or dedicated cores: its hypervisor gives the time to others.",
    "lock_or_pool_limit": f"Find the lock or the pool (threads, connections) that all wait for: {_WORKERS}.",
    "rate_limit": "A configured rate is the limit: raise it for this client, unless it is what you explore.",
    "queue_growth": "Add consumers, or accept less: at this load the queue grows without end.",
    "memory_saturated": "Add memory, or use less: `free -m`, and memory by level in the report.",
    "swapping": "Add memory, or use less: `vmstat 1` shows what is read back (si).",
    "disk_saturated": "Write less or in batches, or use a faster disk: `iostat -x 1`.",
    "disk_full": "Free space: `df -h`.",
    "network_bandwidth_saturated": "A faster link, or smaller replies (compression).",
    "generator_shares_host": "Run the generator on another machine: by itself the service may get further.",
    "noisy_neighbours": "End the other processes, or keep them off these cores, and measure the same users again.",
    "not_saturated": "Step up: more users still bring more.",
}  # fmt: skip


def advice(finding: Finding, header: Header | None = None) -> str:
    """What to do about a finding, in one line; empty if there is nothing to advise.

    `header`: of the session; the generator's system and the limits that the session set itself decide which commands fit.
    """
    if isinstance(finding, CurveFinding):
        return "; ".join(map(missing, finding.missing))
    if not isinstance(finding, Blame):
        return ""
    system = header.host.system if header is not None else None
    limits = set_limits(header.profile) if header is not None else {}
    return advice_for(_named(finding), finding.readings, system, limits)


def _named(finding: Blame) -> str:
    """The id to advise on: of an unknown cause, its most frequent symptom."""
    symptoms = finding.symptoms if isinstance(finding, Cause) and finding.name == "unknown" else {}
    return max(symptoms, key=lambda each: symptoms[each]) if symptoms else finding.name


def advice_for(name: str, readings: Readings, system: str | None = None, limits: Collection[str] = ()) -> str:
    """The line of one id of the catalogue; empty for an id that this version does not know.

    `system`: Linux (unless given), Darwin, Windows. `limits`: keys that the session's profile sets
    (`model.limits.set_limits`); a sysctl of the machine does not raise those.
    """
    limited, built = _LIMITED.get(name), _BUILT.get(name)
    own = limited(readings, limits) if limited is not None else ""
    return own or (built(readings, system or "Linux") if built is not None else ADVICE.get(name, ""))


# -- limits set by the session's own profile


def _own_ports(readings: Readings, limits: Collection[str]) -> str:
    return f"Keep connections alive (`keep_alive = true`), or widen the range: {_OWN_WIDER}." if _has_namespace(limits) else ""


def _own_time_wait(readings: Readings, limits: Collection[str]) -> str:
    said = f"Keep connections alive (`keep_alive = true`), or {_OWN_REUSE}, or widen the range: {_OWN_WIDER}."
    return said if _has_namespace(limits) else ""


def _own_established(readings: Readings, limits: Collection[str]) -> str:
    said = f"Every port is in use, so tcp_tw_reuse does not help: widen the range, {_OWN_WIDER}."
    return said if _has_namespace(limits) else ""


def _own_backlog(readings: Readings, limits: Collection[str]) -> str:
    said = (
        "Raise the server's backlog (gunicorn: `--backlog 2048`) and `--limit network.somaxconn=4096`: the smaller one counts; "
    )
    return f"{said}then accept faster, with more workers." if _has_namespace(limits) else ""


def _limited_fds(side: str) -> Callable[[Readings, Collection[str]], str]:
    key = f"{side}.open_files"

    def said(readings: Readings, limits: Collection[str]) -> str:
        if key not in limits:
            return ""
        return f"This session limits them itself: `--limit {key}={_power_of_two(readings, 'fds_limit', 65_536)}`, or none."

    return said


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
        return "Use fewer users in one process: Windows has no limit of open files to raise."
    return f"Raise the limit before the run: `ulimit -n {limit}` (its hard limit as root, or in /etc/security/limits.conf)."


def _system_fds(readings: Readings, system: str) -> str:
    name = "kern.maxfiles" if system == "Darwin" else "fs.file-max"
    return f"`sysctl -w {name}={_power_of_two(readings, 'fds_limit_of_system', 1_048_576)}`, and find who holds so many."


def _conntrack(readings: Readings, system: str) -> str:
    return f"`sysctl -w net.netfilter.nf_conntrack_max={_power_of_two(readings, 'conntrack_max', 262_144)}`."


def _buckets(readings: Readings, system: str) -> str:
    return f"`sysctl -w net.ipv4.tcp_max_tw_buckets={_power_of_two(readings, 'tcp_max_tw_buckets', 262_144)}`."


def _target_fds(readings: Readings, system: str) -> str:
    limit = _power_of_two(readings, "fds_limit", 65_536)
    leak = f"`ls -l /proc/{_pid(readings)}/fd` shows what it holds"
    return f"Raise its limit where it starts (`ulimit -n {limit}`, systemd: LimitNOFILE={limit}), and look for a leak: {leak}."


def _backlog(readings: Readings, system: str) -> str:
    name = {"Darwin": "kern.ipc.somaxconn"}.get(system, "net.core.somaxconn")
    command = "" if system == "Windows" else f" and `sysctl -w {name}=4096`: the smaller one counts"
    return f"Raise the server's backlog (gunicorn: `--backlog 2048`){command}; then accept faster, with more workers."


def _cpu(readings: Readings, system: str) -> str:
    return f"More cores for it, or less work a request: `py-spy top --pid {_pid(readings)}`, `perf top -p {_pid(readings)}`."


def _single_thread(readings: Readings, system: str) -> str:
    return f"More workers (`--set workers=N` where the target has it); `top -H -p {_pid(readings)}` names the thread."


def _memory_leak(readings: Readings, system: str) -> str:
    return f"Profile what grows (`memray attach {_pid(readings)}`, tracemalloc, pprof), or restart it before the limit."


def _fd_leak(readings: Readings, system: str) -> str:
    return f"`ls -l /proc/{_pid(readings)}/fd` shows what stays open; a higher limit only buys time."


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
    """The power of two that is at least twice the reading, and at least `least`."""
    now = readings.get(name)
    if not isinstance(now, int | float) or not 0 < now < 2**40:
        return least
    return max(least, 1 << math.ceil(math.log2(2 * now)))
