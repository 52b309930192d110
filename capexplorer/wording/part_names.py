"""Names of findings about watched parts, such as `the CPU of db is saturated`."""

from __future__ import annotations

from typing import Literal

from ..model.findings import Blame
from ..model.watched import ServerKind
from . import numbers
from .cause_texts import name

_OF_PARTS = {
    "part_not_read": "{part} cannot be read",
    "target_cpu_saturated": "the CPU of {part} is saturated",
    "gil_bound": "the CPU of {part} is saturated (GIL)",
    "single_thread_cpu_saturated": "one thread of {part} is saturated",
    "host_cpu_saturated": "the CPU of {part}'s host is saturated",
    "cpu_throttled": "the CPU quota throttles {part}",
    "cpu_steal": "the hypervisor of {part} takes CPU time (steal)",
    "noisy_neighbours": "other processes use the CPU that {part} needs",
    "worker_pool_exhausted": "connections wait in the accept queue of {part}: its workers are exhausted",
    "lock_or_pool_limit": "a lock or a pool inside {part} is the limit",
    "memory_saturated": "the memory of {part}'s host is exhausted",
    "swapping": "the host of {part} swaps",
    "disk_saturated": "the disk of {part} is saturated",
    "disk_full": "the disk of {part} is full",
    "network_bandwidth_saturated": "the network link of {part} is saturated",
    "open_files_limit": "{part} is at its limit of open files",
    "connection_limit": "{part} has no connection left",
    "lock_waits": "sessions of {part} wait for locks",
}
"""Text by id of the catalogue."""


_SHOWN_BY: dict[ServerKind, str] = {
    "postgres": "its connections and lock waits",
    "redis": "its clients and operations",
    "nginx": "its connections",
    "statsd": "its requests",
    "prometheus": "its connections and lock waits",
}
"""What a server's own figures show, by the key that reads them."""


def figures_of_server(program: str, kind: ServerKind) -> str:
    """`postgres shows its connections and lock waits with `postgres = URL``."""
    means = f"`{kind} = URL`" + (" of its exporter" if kind == "prometheus" else "")
    return f"{program} shows {_SHOWN_BY[kind]} with {means} (docs/watch.md)"


def of_part(finding: Blame, part: str) -> str:
    """`db has no connection left (40 of 40)`, `sessions of db wait for locks (85%)`."""
    words = _OF_PARTS.get(finding.name, f"{name(finding.name)} ({{part}})").format(part=part)
    figure, peers = _figure(finding), finding.readings.get("peers_at_ease")
    unlike = f", unlike {_joined(peers, 'and')}" if isinstance(peers, str) else ""
    return (f"{words} ({figure})" if figure else words) + unlike


def unwatched_party(finding: Blame) -> str:
    """`requests wait for a lock or a pool in proxy or web, or outside of what is watched`."""
    places = finding.readings.get("may_wait_in")
    if not isinstance(places, str):
        return name(finding.name)
    return f"requests wait for a lock or a pool in {_joined(places, 'or')}, or outside of what is watched"


def _joined(names: str, word: Literal["and", "or"]) -> str:
    """`web1, web3 and web4`."""
    *others, last = names.split(", ")
    return f"{', '.join(others)} {word} {last}" if others else last


def _figure(finding: Blame) -> str:
    """The most important figure of the finding; empty if it has none."""
    used, limit, waits = (finding.reading(key) for key in ("connections", "connections_limit", "lock_waits_ratio"))
    if used is not None and limit:
        return f"{numbers.number(used)} of {numbers.number(limit)}"
    return numbers.percent(waits) if waits is not None else ""
