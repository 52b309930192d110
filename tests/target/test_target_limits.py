"""Limits on open files and cores hold for a target and its child processes, also after a restart."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from capexplorer.model.limits import ProcessLimits
from capexplorer.target.place import free_port

from .target_rig import Rig, becomes_true

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="affinity needs Linux")

PRINTS_ITS_LIMITS = """
import os, resource, subprocess, sys, time
print(sys.argv[0][-8:], resource.getrlimit(resource.RLIMIT_NOFILE), sorted(os.sched_getaffinity(0)), flush=True)
if len(sys.argv) > 1:
    subprocess.run([sys.executable, sys.argv[0]])
    time.sleep(600)
"""


def reported(rig: Rig, limits: ProcessLimits) -> list[str]:
    """The lines that the target and its child process print about their limits."""
    run = rig.supervisor.start(rig.target(PRINTS_ITS_LIMITS), {}, free_port(), limits, grace_s=0.5)
    rig.started(run)
    assert becomes_true(lambda: len(rig.supervisor.output) == 2)
    return list(rig.supervisor.output)


def test_open_files_and_cores_hold_for_a_target_and_its_children_through_restarts(rig: Rig) -> None:
    last = max(os.sched_getaffinity(0))
    limits = ProcessLimits(open_files=77, cpus=(last,))
    expected = [f"small.py (77, 77) [{last}]"] * 2
    assert reported(rig, limits) == expected
    assert reported(rig, limits) == expected


def test_without_limits_a_target_has_what_the_app_was_started_with(rig: Rig) -> None:
    import resource

    own = f"small.py {resource.getrlimit(resource.RLIMIT_NOFILE)} {sorted(os.sched_getaffinity(0))}"
    assert reported(rig, ProcessLimits()) == [own] * 2


def test_a_limit_that_the_kernel_refuses_is_why_the_target_did_not_start(rig: Rig) -> None:
    beyond = int(Path("/proc/sys/fs/nr_open").read_text()) + 1
    run = rig.supervisor.start(rig.target(PRINTS_ITS_LIMITS), {}, free_port(), ProcessLimits(open_files=beyond))
    assert rig.exited(run).reason == f"cannot run {sys.executable}: the kernel refuses its limits (open_files = {beyond})"
