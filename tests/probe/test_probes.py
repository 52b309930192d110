"""All probes together: what the recorder calls, when descriptors run out, under gevent, and when the target changes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from capexplorer.model.readings import PortsReading, TargetReading
from capexplorer.probe import portable
from capexplorer.probe.listener import listening_pid
from capexplorer.probe.probes import Probes

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")

_EMFILE = """
import json, msgspec, os, resource, socket, subprocess, sys, threading
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
from capexplorer.probe.probes import Probes
listener = socket.create_server(("127.0.0.1", 0))
tid = threading.get_native_id()
probes = Probes(load_tid=tid, screen_tid=tid, recorder_tid=tid)
probes.watch(child.pid, listener.getsockname()[1], f"http://127.0.0.1:{listener.getsockname()[1]}/")
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
probes.read(1.0)
held = []
another = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
def exhaust():
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        return error.errno
exhausted = exhaust()
readings = probes.read(1.0)
probes.watch(None)
probes.read(1.0)
exhaust()
probes.watch(another.pid)
unopened = probes.read(1.0).targets[0]
for fd in held:
    os.close(fd)
opened = probes.read(1.0).targets[0]
output = {name: {field: msgspec.to_builtins(getattr(reading, field)) for field in reading.__struct_fields__} for name, reading in
        (("generator", readings.generator), ("target", readings.targets[0]), ("host", readings.host),
         ("ports", readings.ports), ("tcp", readings.tcp), ("unopened", unopened), ("opened", opened))}
probes.close()
for process in (child, another):
    process.kill()
    process.wait()
print(json.dumps([exhausted, output, readings.app]))
"""

_GEVENT = """
import gevent.monkey
gevent.monkey.patch_all()
import gevent, json, sys
from gevent.monkey import get_original
start, now = get_original("_thread", "start_new_thread"), get_original("time", "sleep")
from capexplorer.probe.probes import Probes
import socket, os
listener = socket.create_server(("127.0.0.1", 0))
reported = []
def record():
    probes = Probes(recorder_tid=None)
    probes.watch(os.getpid(), listener.getsockname()[1], f"http://127.0.0.1:{listener.getsockname()[1]}/")
    probes.read(1.0)
    readings = probes.read(1.0)
    probes.close()
    reported.append([readings.ports.capacity, readings.ports.used, readings.targets[0].listen_backlog, readings.app])
start(record, ())
while not reported:
    gevent.sleep(0.01)
print(json.dumps(reported[0]))
sys.stdout.flush()
os._exit(0)
"""


def run(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@linux
def test_when_descriptors_run_out_everything_opened_before_is_still_read() -> None:
    exhausted, reported, app = run(_EMFILE)
    assert exhausted == 24
    generator, target, host, ports, tcp = (reported[name] for name in ("generator", "target", "host", "ports", "tcp"))
    assert generator["fds"] == generator["fds_limit"] == 100
    assert generator["cpu_ratio"] is not None and generator["rss_bytes"] > 0
    assert (target["alive"], target["processes"]) == (True, 1)
    assert target["cpu_ratio"] is not None
    assert target["rss_bytes"] > 0
    assert target["fds"] > 0
    assert target["listen_queue"] is not None
    assert target["fds_fullest"] == target["fds"] and target["fds_limit"] > 0
    assert target["busiest_thread_ratio"] is not None, "its threads are as many as are held, so they need not be listed"
    assert target["unread"] == []
    assert host["cpu_ratio"] is not None
    assert host["memory_used_bytes"] > 0
    assert host["unread"] == []
    assert ports["used"] is not None and ports["capacity"] > 0
    assert tcp["unread"] == [] and tcp["target"] is not None
    assert app is None


@linux
def test_a_target_watched_while_no_descriptor_is_left_is_unknown_not_dead_and_is_read_later() -> None:
    _, reported, _ = run(_EMFILE)
    unopened, opened = reported["unopened"], reported["opened"]
    assert (unopened["alive"], unopened["processes"], unopened["rss_bytes"]) == (True, None, None)
    assert {"processes_ended", "processes_started", "major_faults_per_s"} <= set(unopened["unread"])
    assert (opened["alive"], opened["processes"]) == (True, 1)
    assert opened["rss_bytes"] > 0


@linux
def test_all_probes_read_in_a_native_thread_of_a_patched_process() -> None:
    capacity, used, backlog, app = run(_GEVENT)
    assert capacity > 0
    assert used is not None
    assert backlog > 0
    assert app is None, "nobody answers"


def test_no_module_of_this_room_uses_what_gevent_replaces() -> None:
    rooms = "capexplorer.probe.probes, capexplorer.probe.facts, capexplorer.probe.listener"
    modules = set(run(f"import sys, json, {rooms}; print(json.dumps(sorted(sys.modules)))"))
    assert not modules & {"socket", "subprocess", "gevent", "locust", "selectors", "ssl", "psutil"}
    others = {name for name in modules if name.startswith("capexplorer.") and not name.startswith("capexplorer.probe")}
    assert {name.split(".")[1] for name in others} == {"model"}


@linux
def test_the_probes_switch_to_another_target_and_close_all_descriptors() -> None:
    before = len(os.listdir("/proc/self/fd"))
    probes = Probes()
    assert probes.read(1.0).targets == ()
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleeper) as first, subprocess.Popen(sleeper) as second:
        probes.watch(first.pid)
        assert [target.pid for target in probes.read(1.0).targets] == [first.pid]
        probes.watch(second.pid)
        probes.watch(second.pid)
        readings = probes.read(1.0)
        assert [(target.pid, target.cpu_ratio) for target in readings.targets] == [(second.pid, None)], "nothing of the old one"
        first.kill()
        second.kill()
        second.wait()
        reading = probes.read(1.0).targets[0]
        assert (reading.alive, reading.processes, reading.processes_ended) == (False, 0, 1)
        assert reading.ended_by in ({"SIGKILL": 1}, {}), "empty where the kernel reports an end to the parent process only"
        assert probes.read(1.0).targets == (TargetReading(pid=second.pid, alive=False, processes=0),)
    probes.watch(None)
    assert probes.read(1.0).targets == ()
    probes.close()
    assert len(os.listdir("/proc/self/fd")) == before


@linux
def test_cpu_of_other_processes_is_unknown_while_an_unwatched_service_runs_on_this_machine() -> None:
    probes = Probes()

    def others() -> float | None:
        """Once the host's clock of CPU time has moved on."""
        sum(range(1_000_000))
        readings = next(read for _ in range(1_000) if (read := probes.read(1.0)).host.cpu_ratio is not None)
        return readings.neighbours.cpu_ratio

    assert others() is not None, "the service is elsewhere: all but this process is another's"
    probes.watch(None, has_unwatched_service=True)
    assert others() is None, "it may be the service"
    probes.watch(os.getpid())
    probes.read(1.0)
    assert others() is not None
    probes.close()


def test_the_process_that_listens_on_a_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listening_pid(port) == os.getpid()
    assert listening_pid(port) is None


def test_without_proc_psutil_gives_a_part_of_the_readings() -> None:
    generator, host, target = portable.GeneratorProbe(None, None, None), portable.HostProbe(), portable.TargetProbe(os.getpid())
    for probe in (generator, host, target):
        probe.read(1.0)
    sum(range(2_000_000))
    mine, machine, tree = generator.read(1.0), host.read(1.0), target.read(1.0)
    assert mine.process_cpu_ratio is not None and mine.process_cpu_ratio > 0
    assert mine.rss_bytes is not None and mine.cpu_ratio is None
    assert machine.cpu_ratio is None or machine.cpu_ratio >= 0
    assert machine.memory_used_bytes is not None
    assert tree.alive
    assert tree.processes is not None
    assert tree.cpu_ratio is not None
    assert tree.rss_bytes is not None
    assert portable.PortsProbe().read(1.0) == PortsReading()
    assert (tree.processes_started, tree.processes_ended) == (0, 0)
    assert tree.grown("oom_kills") is None and tree.disk_free_bytes is not None
    nobody = portable.TargetProbe(2**22 + 1).read(1.0)
    assert not nobody.alive and nobody.processes is None
    assert portable.TcpProbe().read().grown("listen_overflows") is None
