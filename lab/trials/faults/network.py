"""Faults between the generator and the service."""

from __future__ import annotations

from .row import Row

_LOSS = "4,32 0 0 4294963256,53 1 0 {share},6 0 0 2,6 0 0 0"
"""Classic BPF: a random word; below `share` (of 2^32) the packet is dropped as it comes in."""

_DROP_HALF_OPEN = "4,40 0 0 36,21 0 1 20000,6 0 0 2,6 0 0 0"
"""Drops packets to port 20000, from which the half-open connections are opened, so that their SYN-ACKs are not refused."""

ROWS = (
    Row(
        name="refused",
        family="network",
        fault="nobody listens on the port",
        expected=("connection_refused",),
        reported={"connection_refused": ": connection refused"},
        served_by="nobody",
    ),
    Row(
        name="host-unreachable",
        family="network",
        fault="the route reports the host as unreachable",
        expected=("host_unreachable",),
        reported={"host_unreachable": ": no route to host"},
        served_by="nobody",
        host="http://10.9.9.9:{port}",
        arguments=("--allow-host", "10.9.9.9"),
        namespace=("ip route add unreachable 10.9.9.0/24",),
    ),
    Row(
        name="network-unreachable",
        family="network",
        fault="no route to the network",
        expected=("network_unreachable",),
        reported={"network_unreachable": ": network is unreachable"},
        served_by="nobody",
        host="http://10.9.9.9:{port}",
        arguments=("--allow-host", "10.9.9.9"),
        namespace=("true",),
    ),
    Row(
        name="packet-loss",
        family="network",
        fault="5% of packets are lost",
        expected=("packet_loss",),
        namespace=(
            "tc qdisc add dev lo clsact",
            f"tc filter add dev lo ingress bpf da bytecode '{_LOSS.format(share=214748364)}'",
        ),
        plan="40:12s",
    ),
    Row(
        name="syn-flood",
        family="network",
        fault="200 half-open connections a second that are never completed, a backlog of 16",
        expected=("syn_queue_overflow",),
        served_by="trial",
        params={"backlog": 16},
        keep_alive=False,
        namespace=(
            "tc qdisc add dev lo clsact",
            f"tc filter add dev lo ingress bpf da bytecode '{_DROP_HALF_OPEN}'",
            "{ {python} -m lab.trials.faults.synflood 8123 >/dev/null & }",
        ),
    ),
    Row(
        name="bad-certificate",
        family="network",
        fault="a certificate that no known authority signed",
        expected=("tls_certificate_error",),
        served_by="trial",
        tls=True,
        host="https://127.0.0.1:{port}",
        locustfile="strict_tls.py",
    ),
    Row(
        name="https-against-http",
        family="network",
        fault="https to a port that speaks http",
        expected=("tls_handshake_failure",),
        reported={"tls_handshake_failure": ": no TLS (wrong version number)"},
        served_by="trial",
        host="https://127.0.0.1:{port}",
    ),
    Row(
        name="http-against-https",
        family="network",
        fault="http to a port that speaks TLS",
        expected=(),
        one_of=("malformed_response", "incomplete_response", "connection_reset"),
        reported={"malformed_response": ": no HTTP answer", "connection_reset": ": connection reset by peer"},
        served_by="trial",
        tls=True,
        also_true={"generator_retry_amplification": "FastHttpUser repeats the request"},
    ),
    Row(
        name="resets",
        family="network",
        fault="a RST instead of every reply",
        expected=("connection_reset",),
        act="reset",
    ),
    Row(
        name="hidden-resets",
        family="network",
        fault="a RST on every fourth connection, after which FastHttpUser silently repeats the request",
        expected=("connection_reset",),
        act="reset_some",
        params={"after": 4},
        short="8:4s",
    ),
    Row(
        name="keep-alive-race",
        family="network",
        fault="the service closes connections that were idle for 0.95 s, often while a request arrives; users wait 0.5-1.0 s",
        expected=("keepalive_race",),
        act="race",
        params={"amount": 950},
        wait_s="{ between = [0.5, 1.0] }",
        plan="40:15s",
    ),
)
