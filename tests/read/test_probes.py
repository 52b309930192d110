"""All probes together: without free file descriptors, in a process patched by gevent, and when the watched target changes."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.readings import HostReading, PortsReading, TargetReading
from capexplorer.read import portable
from capexplorer.read.machine import HostProbe
from capexplorer.read.ports import listening_pid, listening_programs
from capexplorer.read.probes import Probes

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")

_READ_WITHOUT_FREE_DESCRIPTORS = """
import json, msgspec, os, resource, socket, subprocess, sys, threading
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
from capexplorer.read.probes import Probes
listener = socket.create_server(("127.0.0.1", 0))
tid = threading.get_native_id()
probes = Probes(load_tid=tid, screen_tid=tid, pump_tid=tid)
probes.watch(child.pid, listener.getsockname()[1], f"http://127.0.0.1:{listener.getsockname()[1]}/")
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
probes.read(1.0)
opened_files = []
another = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
def open_until_error():
    try:
        while True:
            opened_files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        return error.errno
open_error = open_until_error()
readings = probes.read(1.0)
probes.watch(None)
probes.read(1.0)
open_until_error()
probes.watch(another.pid)
without_descriptors = probes.read(1.0).targets[0]
for fd in opened_files:
    os.close(fd)
with_descriptors = probes.read(1.0).targets[0]
output = {name: {field: msgspec.to_builtins(getattr(reading, field)) for field in reading.__struct_fields__} for name, reading in
        (("generator", readings.generator), ("target", readings.targets[0]), ("host", readings.host),
         ("ports", readings.ports), ("tcp", readings.tcp), ("without_descriptors", without_descriptors),
         ("with_descriptors", with_descriptors))}
probes.close()
for process in (child, another):
    process.kill()
    process.wait()
print(json.dumps([open_error, output, readings.app]))
"""
"""Reads a target that was watched before all descriptors were in use, then watches another one while none is free."""

_READ_IN_A_NATIVE_THREAD = """
import gevent.monkey
gevent.monkey.patch_all()
import gevent, json, sys
from gevent.monkey import get_original
start_native_thread = get_original("_thread", "start_new_thread")
from capexplorer.read.probes import Probes
import socket, os
listener = socket.create_server(("127.0.0.1", 0))
reported = []
def record():
    probes = Probes(pump_tid=None)
    probes.watch(os.getpid(), listener.getsockname()[1], f"http://127.0.0.1:{listener.getsockname()[1]}/")
    probes.read(1.0)
    readings = probes.read(1.0)
    probes.close()
    reported.append([readings.ports.capacity, readings.ports.used, readings.targets[0].listen_backlog, readings.app])
start_native_thread(record, ())
while not reported:
    gevent.sleep(0.01)
print(json.dumps(reported[0]))
sys.stdout.flush()
os._exit(0)
"""


def run(code: str) -> Any:
    """Run code in a new process; returns the JSON value that it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@linux
def test_a_target_watched_before_descriptors_ran_out_is_still_read_and_another_one_later() -> None:
    open_error, reported, app = run(_READ_WITHOUT_FREE_DESCRIPTORS)
    assert open_error == errno.EMFILE
    generator, target, host, ports, tcp = (reported[name] for name in ("generator", "target", "host", "ports", "tcp"))
    assert generator["fds"] == generator["fds_limit"] == 100
    assert generator["cpu_ratio"] is not None and generator["rss_bytes"] > 0
    assert (target["alive"], target["processes"]) == (True, 1)
    assert target["cpu_ratio"] is not None
    assert target["rss_bytes"] > 0
    assert target["fds"] > 0
    assert target["listen_queue"] is not None
    assert target["fds_fullest"] == target["fds"] and target["fds_limit"] > 0
    assert target["busiest_thread_ratio"] is not None, (
        "the number of its threads is unchanged, so they need not be listed, which would need a descriptor"
    )
    assert target["unread"] == []
    assert host["cpu_ratio"] is not None
    assert host["memory_used_bytes"] > 0
    assert host["unread"] == []
    assert ports["used"] is not None and ports["capacity"] > 0
    assert tcp["unread"] == [] and tcp["target"] is not None
    assert app is None, "an HTTP request needs a new descriptor"
    unread, read_later = reported["without_descriptors"], reported["with_descriptors"]
    assert (unread["alive"], unread["processes"], unread["rss_bytes"]) == (True, None, None)
    assert {"processes_ended", "processes_started", "major_faults_per_s"} <= set(unread["unread"])
    assert (read_later["alive"], read_later["processes"], read_later["cpu_ratio"]) == (True, 1, None)
    assert read_later["rss_bytes"] > 0


@linux
def test_all_probes_read_in_a_native_thread_of_a_process_patched_by_gevent() -> None:
    capacity, used, backlog, app = run(_READ_IN_A_NATIVE_THREAD)
    assert capacity > 0
    assert used is not None
    assert backlog > 0
    assert app is None, "the listener sends no response"


def test_the_probe_package_imports_no_module_that_gevent_replaces() -> None:
    probe_modules = "capexplorer.read.probes, capexplorer.read.machine, capexplorer.read.ports"
    imported = set(run(f"import sys, json, {probe_modules}; print(json.dumps(sorted(sys.modules)))"))
    assert not imported & {"socket", "subprocess", "gevent", "locust", "selectors", "ssl", "psutil"}
    others = {name for name in imported if name.startswith("capexplorer.") and not name.startswith("capexplorer.read")}
    assert {name.split(".")[1] for name in others} == {"model", "procs"}, "packages of capexplorer besides `read`"


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
        assert [(target.pid, target.cpu_ratio) for target in readings.targets] == [(second.pid, None)], "no CPU time of the first"
        first.kill()
        second.kill()
        second.wait()
        reading = probes.read(1.0).targets[0]
        assert not reading.alive
        assert reading.processes == 0
        assert reading.processes_ended == 1
        assert reading.ended_by in ({"SIGKILL": 1}, {}), "empty where the kernel reports an end to the parent process only"
        assert probes.read(1.0).targets == (TargetReading(pid=second.pid, alive=False, processes=0),)
    probes.watch(None)
    assert probes.read(1.0).targets == ()
    probes.close()
    assert len(os.listdir("/proc/self/fd")) == before, "descriptors of the probes are still open"


@linux
def test_cpu_of_other_processes_is_unknown_while_an_unwatched_service_runs_on_this_machine() -> None:
    probes = Probes()

    def cpu_of_others() -> float | None:
        """Read as soon as the host's clock of CPU time, which advances in steps, has advanced."""
        sum(range(1_000_000))
        readings = next(read for _ in range(1_000) if (read := probes.read(1.0)).host.cpu_ratio is not None)
        return readings.neighbours.cpu_ratio

    assert cpu_of_others() is not None, "no service runs on this machine"
    probes.watch(None, has_unwatched_service=True)
    assert cpu_of_others() is None, "any other process may be the service"
    probes.watch(os.getpid())
    probes.read(1.0)
    assert cpu_of_others() is not None, "the service is watched"
    probes.close()


def test_the_process_that_listens_on_a_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listening_pid(port) == os.getpid()
    assert listening_pid(port) is None, "the listener is closed"


def test_the_portable_probes_read_cpu_memory_and_processes_and_no_threads_ports_and_counters() -> None:
    generator, target, host = portable.GeneratorProbe(None, None, None), portable.TargetProbe(os.getpid()), portable.HostProbe()
    for probe in (generator, target, host):
        probe.read(1.0)
    sum(range(2_000_000))
    of_generator, of_target, of_host = generator.read(1.0), target.read(1.0), host.read(1.0)
    assert (of_generator.process_cpu_ratio or 0.0) > 0 and of_generator.rss_bytes is not None
    assert of_generator.cpu_ratio is None, "the CPU time of the load thread alone is not read"
    assert of_host.memory_used_bytes is not None and (of_host.cpu_ratio or 0.0) >= 0
    assert of_target.alive and None not in (
        of_target.processes,
        of_target.cpu_ratio,
        of_target.rss_bytes,
        of_target.disk_free_bytes,
    )
    assert (of_target.processes_started, of_target.processes_ended, of_target.grown("oom_kills")) == (0, 0, None)
    missing = portable.TargetProbe(2**22 + 1).read(1.0)  # above the highest pid of Linux
    assert (missing.alive, missing.processes) == (False, None)
    assert portable.PortsProbe().read(1.0) == PortsReading()
    assert portable.TcpProbe().read().grown("listen_overflows") is None


@linux
def test_a_well_known_server_is_found_by_the_name_of_its_program_and_its_port(tmp_path: Path) -> None:
    program = tmp_path / "valkey-server"
    program.symlink_to(Path(sys.executable).resolve())
    code = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); time.sleep(600)"
    )
    with subprocess.Popen([program, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            assert listening_programs(["valkey-server", "no-such-server"]) == [("valkey-server", port)]
        finally:
            server.kill()


@linux
def test_a_reader_that_raises_ends_and_is_named_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(probe: object, elapsed_s: float) -> HostReading:
        raise ValueError("a line that nobody expected")

    monkeypatch.setattr(HostProbe, "read", read)
    probes = Probes()
    probes.watch(os.getpid())
    first, second = probes.read(1.0), probes.read(1.0)
    probes.close()
    assert first.unusable == ("host (not read any more): ValueError: a line that nobody expected",)
    assert second.unusable == ()
    assert second.host == HostReading()
    assert second.targets[0].cpu_ratio is not None
