"""CPU cost of all probes at one read per second: CPU of the reading thread, as a share of one core. Goal: at most 1%.

Measured without and with 25,000 sockets in TIME_WAIT, with 200 open connections and a target of 3 processes and 8 threads that
serves metrics. The baselines are two simple ways to count ports: psutil.net_connections, and parsing /proc/net/tcp. Loopback
only, in a network namespace of its own (`unshare`), since 25,000 sockets in TIME_WAIT need a large port range without reuse.

    python lab/bench/probe_cost.py [--time-wait N] [--seconds S]
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import psutil

from capexplorer.probe.app import AppProbe
from capexplorer.probe.cgroup import cgroup_of
from capexplorer.probe.generator import GeneratorProbe, disk_free_bytes
from capexplorer.probe.host import HostProbe
from capexplorer.probe.other_processes import snapshot
from capexplorer.probe.ports import PortsProbe
from capexplorer.probe.probes import Probes
from capexplorer.probe.target import TargetProbe
from capexplorer.probe.tcp import NamespaceListeners, TcpProbe

_CONNECTIONS = 200
_INSIDE = "CAPEXPLORER_BENCH_NAMESPACE"
_TARGET = """
import os, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Metrics(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"queue": {"depth": 3}, "finished": 17}'
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
server = HTTPServer(("127.0.0.1", 0), Metrics)
for _ in range(2):
    if os.fork() == 0:
        time.sleep(600); os._exit(0)
for _ in range(7):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
"""


def main(argv: Sequence[str] = ()) -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--time-wait", type=int, default=25_000)
    options.add_argument("--seconds", type=int, default=10)
    chosen = options.parse_args(list(argv))
    if ran_in_namespace(argv):
        return
    print(f"{'':56}{'TIME_WAIT':>12}{'mean ms':>10}{'max ms':>10}{'% of a core at 1 Hz':>22}")
    for count in (0, min(max(chosen.time_wait, 1), 60_000)):
        with ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=256))
            sockets = [stack.enter_context(each) for each in connections(listener, _CONNECTIONS)]
            assert len(sockets) == 2 * _CONNECTIONS
            pid, port = stack.enter_context(target())
            make_time_wait(listener, count)
            measure(pid, port, chosen.seconds)


def ran_in_namespace(options: Sequence[str]) -> bool:
    """Whether a process in a network namespace of its own, with enough ports, has measured and printed. In that process, and
    if no namespace can be created, False: this process must measure."""
    if _INSIDE in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for name, value in (("ip_local_port_range", "1024 65535"), ("tcp_tw_reuse", "0")):
            with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
                file.write(value)
        return False
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    possible = shutil.which("unshare") and shutil.which("ip")
    if possible and subprocess.run(["unshare", flags, "true"], capture_output=True).returncode == 0:
        command = ["unshare", flags, sys.executable, "-m", "lab.bench.probe_cost", *options]
        environment = os.environ | {_INSIDE: "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        print(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout, end="")
        return True
    print("no network namespace: there will be fewer sockets in TIME_WAIT, and other processes' sockets count", file=sys.stderr)
    return False


def connections(listener: socket.socket, count: int) -> Iterator[socket.socket]:
    """Both ends of `count` connections."""
    for _ in range(count):
        yield socket.create_connection(listener.getsockname())
        yield listener.accept()[0]


def make_time_wait(listener: socket.socket, count: int) -> None:
    """Leave `count` client sockets in TIME_WAIT."""
    for _ in range(count):
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        client.close()
        server.close()


@contextmanager
def target() -> Iterator[tuple[int, int]]:
    """Pid and port of a target."""
    with subprocess.Popen([sys.executable, "-c", _TARGET], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        children = psutil.Process(process.pid).children()
        try:
            yield process.pid, port
        finally:
            for each in (*children, process):
                each.kill()


def measure(pid: int, port: int, seconds: int) -> None:
    """Print one table: all probes together at 1 Hz, each probe alone half a second later, and the baselines three times."""
    url = f"http://127.0.0.1:{port}/"
    tid = threading.get_native_id()
    probes = Probes(load_tid=tid, screen_tid=tid, recorder_tid=tid)
    probes.watch(pid, port, url)
    generator, watched, host = GeneratorProbe(tid, tid, tid), TargetProbe(pid, port), HostProbe()
    tcp, ports, app = TcpProbe(), PortsProbe(), AppProbe(url)
    cgroup, listeners = cgroup_of(pid), NamespaceListeners(pid)
    alone: dict[str, Callable[[], object]] = {
        "  generator": lambda: generator.read(1.0),
        "  target": lambda: watched.read(1.0),
        "    its control groups": lambda: (cgroup.throttled_ratio(1.0), cgroup.oom_kills(), cgroup.memory_limit_bytes()),
        "    its disk, every 5 s": lambda: disk_free_bytes(pid),
        "  accept queue": lambda: tcp.listen_queue(port),
        "    in another namespace": lambda: listeners.queue(port),
        "  host": lambda: host.read(1.0),
        "  all processes, every 3 s while others use 0.2 cores": snapshot,
        "  tcp": lambda: tcp.read(),
        "  ports": lambda: ports.read(1.0),
        "  app (HTTP)": lambda: app.read(),
    }
    costs: dict[str, list[float]] = {"all probes": [], **{name: [] for name in alone}}
    started = time.monotonic()
    for tick in range(seconds):
        time.sleep(max(0.0, started + tick - time.monotonic()))
        costs["all probes"].append(cost_ms(lambda: probes.read(1.0)))
        time.sleep(0.5)
        for name, read in alone.items():
            costs[name].append(cost_ms(read))
    costs["baseline: psutil"] = [cost_ms(lambda: psutil.net_connections("tcp")) for _ in range(3)]
    costs["baseline: /proc/net/tcp"] = [cost_ms(read_proc_net_tcp) for _ in range(3)]
    time_wait = probes.read(1.0).tcp.sockets_time_wait
    for name, values in costs.items():
        mean = sum(values) / len(values)
        print(f"{name:56}{time_wait!s:>12}{mean:>10.3f}{max(values):>10.3f}{mean / 10:>21.2f}%")
    for each in (probes, generator, watched, host, tcp, ports, cgroup, listeners):
        each.close()


def cost_ms(read: Callable[[], object]) -> float:
    """CPU time of this thread during a read, user and system."""
    before = time.thread_time_ns()
    read()
    return (time.thread_time_ns() - before) / 1e6


def read_proc_net_tcp() -> Counter[tuple[str, str]]:
    """Sockets by remote address and state."""
    with open("/proc/net/tcp") as file:
        rows = (line.split(None, 4) for line in file.readlines()[1:])
        return Counter((row[2], row[3]) for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
