"""Names of the ids of docs/causes.md, for lists and for the verdict line ("limited by ..."). `advice` has the advice."""

from __future__ import annotations

from collections.abc import Collection

GROUPS = {"generator": "Generator", "host": "Host", "network": "Network", "target": "Target", "check": "Checks"}
"""Headings for the locations of causes, in the order in which locations are ruled out."""

NAMES = {
    # the generator and its host
    "ephemeral_port_exhaustion": "ephemeral ports exhausted",
    "ephemeral_port_exhaustion_time_wait": "ephemeral ports exhausted (TIME_WAIT)",
    "ephemeral_port_exhaustion_established": "ephemeral ports exhausted (ESTABLISHED)",
    "fd_exhaustion_generator": "the generator is out of file descriptors",
    "fd_exhaustion_system": "the system is out of file descriptors",
    "host_not_allowed": "load to this host is not allowed",
    "dns_failure": "the name does not resolve",
    "host_unreachable": "no route to the host",
    "network_unreachable": "no route to the network",
    "tls_certificate_error": "the TLS certificate is refused",
    "tls_handshake_failure": "the TLS handshake fails",
    "conntrack_table_full": "the connection tracking table is full",
    "tcp_memory_pressure": "the kernel is short of TCP memory",
    "time_wait_bucket_overflow": "TIME_WAIT buckets overflow",
    "generator_cpu_saturated": "the generator's CPU is saturated",
    "generator_retry_amplification": "the HTTP client retries requests by itself",
    "generator_memory": "the generator's memory grows",
    "user_code_error": "user code error",
    "load_thread_blocked": "user code blocks the load thread",
    "load_thread_ended": "the load thread has ended",
    "worker_lost": "a worker was lost",
    "failed_check": "failed check",
    "log_write_failed": "the session log cannot be written",
    "connection_churn": "a new connection for most requests",
    # the target
    "target_crashed": "the target crashed",
    "target_killed_by_signal": "the target was killed by a signal",
    "target_oom_killed": "the target was killed for lack of memory",
    "target_restarted": "the target's processes restarted",
    "connection_refused": "connections are refused",
    "fd_exhaustion_target": "the target is out of file descriptors",
    "listen_backlog_overflow": "the target's accept queue overflows",
    "syn_queue_overflow": "the SYN queue overflows",
    "connection_reset": "connections are reset",
    "keepalive_race": "idle connections are closed as a request is sent",
    "service_closes_connections": "the service closes the connection after most requests",
    "incomplete_response": "replies are incomplete",
    "malformed_response": "replies are not HTTP",
    "body_too_large": "replies are larger than the limit",
    "packet_loss": "packets are lost",
    "part_not_read": "a watched part cannot be read",
    "rate_limited": "the service limits the rate (HTTP 429)",
    "load_shedding": "the service sheds load (HTTP 503)",
    "server_error": "server errors (HTTP 5xx)",
    "bad_gateway": "bad gateway (HTTP 502)",
    "gateway_timeout": "gateway timeout (HTTP 504)",
    "client_error": "client errors (HTTP 4xx)",
    "task_failed_result": "tasks fail",
    "task_timeout": "tasks exceed their time limit",
    # symptoms that nothing explained
    "connect_timeout": "connecting times out",
    "read_timeout": "replies time out",
    "unexpected_status": "unexpected status",
    "unknown": "failures of unknown cause",
    # bottlenecks and leaks
    "think_time_limited": "the users' think time sets the throughput",
    "target_cpu_saturated": "the service's CPU is saturated",
    "gil_bound": "the service's CPU is saturated (GIL)",
    "single_thread_cpu_saturated": "one thread of the service is saturated",
    "host_cpu_saturated": "the host's CPU is saturated",
    "cpu_throttled": "the CPU quota throttles the service",
    "cpu_steal": "the hypervisor takes CPU time (steal)",
    "worker_pool_exhausted": "the service's workers are exhausted",
    "lock_or_pool_limit": "a lock or a pool inside the service is the limit",
    "rate_limit": "a rate limiter is the limit",
    "queue_growth": "work is accepted faster than it is finished",
    "open_files_limit": "the limit of open files is reached",
    "connection_limit": "all connections are in use",
    "lock_waits": "sessions wait for locks",
    "unwatched_party": "requests wait outside of what is watched",
    "memory_saturated": "memory is exhausted",
    "swapping": "the host swaps",
    "disk_saturated": "the disk is saturated",
    "disk_full": "the disk is full",
    "network_bandwidth_saturated": "the network link is saturated",
    "memory_leak": "the target's memory leaks",
    "fd_leak": "the target leaks file descriptors",
    "not_saturated": "no limit reached",
    "generator_shares_host": "generator and service share a saturated machine",
    "noisy_neighbours": "other processes use the CPU",
}

LIMITERS = {
    "ephemeral_port_exhaustion": "the generator's ephemeral ports",
    "ephemeral_port_exhaustion_time_wait": "the generator's ephemeral ports (TIME_WAIT)",
    "ephemeral_port_exhaustion_established": "the generator's ephemeral ports (ESTABLISHED)",
    "fd_exhaustion_generator": "the generator's file descriptors",
    "fd_exhaustion_system": "the system's file descriptors",
    "host_not_allowed": "the guard: load to this host is not allowed",
    "dns_failure": "a name that does not resolve",
    "host_unreachable": "a missing route to the host",
    "network_unreachable": "a missing route to the network",
    "tls_certificate_error": "a TLS certificate that is refused",
    "tls_handshake_failure": "TLS handshakes that fail",
    "conntrack_table_full": "the connection tracking table",
    "generator_cpu_saturated": "the generator's CPU",
    "load_thread_blocked": "user code that blocks the load thread",
    "load_thread_ended": "the end of the load thread",
    "log_write_failed": "a session log that cannot be written",
}
"""After "limited by": causes that make a run say nothing about the service."""

CLIENTS = {"FastHttpUser": "fast (FastHttpUser)", "HttpUser": "requests (HttpUser)", "LeanHttpUser": "lean (LeanHttpUser)"}
"""Client classes -> the value of `client` in a profile."""


def clients(names: Collection[str]) -> str:
    """`fast (FastHttpUser) + other (User)`; empty if no name is known."""
    return " + ".join(CLIENTS.get(each, f"other ({each})") for each in names)


def name(id: str) -> str:  # noqa: A002 - the log's name for it
    """`ephemeral ports exhausted (TIME_WAIT)`; an unknown id with spaces for underscores."""
    return NAMES.get(id, id.replace("_", " "))


def limiter(id: str) -> str:  # noqa: A002
    """As in "limited by ...": `the generator's ephemeral ports (TIME_WAIT)`."""
    return LIMITERS.get(id, name(id))
