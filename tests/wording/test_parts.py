"""Names of bottlenecks of watched parts."""

from __future__ import annotations

import pytest

from capexplorer.model.findings import Bottleneck, Readings
from capexplorer.wording.marks import of_part


@pytest.mark.parametrize(
    ("name", "readings", "words"),
    [
        ("target_cpu_saturated", {}, "the CPU of db is saturated"),
        ("target_cpu_saturated", {"peers_at_ease": "web1, web3"}, "the CPU of db is saturated, unlike web1 and web3"),
        ("single_thread_cpu_saturated", {}, "one thread of db is saturated"),
        ("disk_saturated", {}, "the disk of db is saturated"),
        ("worker_pool_exhausted", {}, "connections wait in the accept queue of db: its workers are exhausted"),
        ("open_files_limit", {}, "db is at its limit of open files"),
        ("cpu_throttled", {}, "the CPU quota throttles db"),
        ("connection_limit", {"connections": 40.0, "connections_limit": 40.0}, "db has no connection left (40 of 40)"),
        ("connection_limit", {}, "db has no connection left"),
        ("lock_waits", {"lock_waits_ratio": 0.85}, "sessions of db wait for locks (85%)"),
        ("kv_cache_full", {}, "the KV cache of db is full"),
        ("engine_queue", {}, "requests wait in db for a place in its batch"),
        ("tokens_slow_down", {}, "tokens of db slow down with its batch"),
        ("lock_or_pool_limit", {}, "a lock or a pool inside db is the limit"),
        ("noisy_neighbours", {}, "other processes use the CPU that db needs"),
    ],
)
def test_a_bottleneck_of_a_part_is_named_with_the_part(name: str, readings: Readings, words: str) -> None:
    assert of_part(Bottleneck(name=name, readings=readings, part="db"), "db") == words
