"""All rows, in the order of the table."""

from __future__ import annotations

from . import bottlenecks, generator, healthy, http, limits, moving, network, target

ALL = {row.name: row for part in (generator, network, target, http, bottlenecks, limits, moving, healthy) for row in part.ROWS}

NOT_INJECTED = {
    "fd_exhaustion_system": "its limit is the whole machine's",
    "tcp_memory_pressure": "its limit is the whole machine's",
    "memory_saturated": "its pressure is the whole machine's",
    "disk_saturated": "the disk is the whole machine's",
    "host_cpu_saturated": "generator and service would have to fill the machine by themselves",
    "swapping": "it needs a machine with swap",
    "cpu_steal": "another virtual machine would have to take the core",
    "network_bandwidth_saturated": "the kernel reports no speed for links of a namespace",
    "users_stopped": "no fault; `tests/e2e/test_user_code.py` has it",
    "custom_events": "no fault of the service; `tests/e2e/test_user_code.py` has it",
    "event_loop_blocked": "it takes a driver that blocks; `tests/e2e/test_user_code.py` has it",
    "load_thread_blocked": "it ends the run; `tests/e2e/test_user_code.py` has it",
    "load_thread_ended": "it ends the run; `tests/e2e/test_user_code.py` has it",
    "worker_lost": "the run recovers from it; `tests/e2e/test_workers.py` has it",
    "unusable_values": "no load leads to it; `tests/e2e/test_hostile_values.py` has it",
    "part_not_read": "no part is watched here; `make parts` cuts the link of one",
    "open_files_limit": "no part is watched here; `make parts` has it",
    "connection_limit": "no part is watched here; `make parts` has it",
    "lock_waits": "no part is watched here; `make parts` has it",
    "unwatched_party": "no part is watched here; `tests/analysis/bottleneck/test_watched_parts.py` has it",
    "users_at_cap": "a setting of the load, no fault; `tests/analysis/causes/test_users_at_cap.py` has it",
    "body_too_large": "`tests/e2e/test_user_code.py` has it, with all clients",
    "generator_shares_host": "it must fill the whole machine; `make experiments` does, with webdav",
}
"""Causes without a row, and why."""
