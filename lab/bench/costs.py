"""CPU costs of the product beside the load: probes, one analysis, kept requests."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import psutil

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.knee.detector import analyse
from capexplorer.model.events import LevelClosed
from capexplorer.model.figures import LevelFigures
from capexplorer.model.timeline import Timeline
from capexplorer.read.cgroup import cgroup_of
from capexplorer.read.generator import GeneratorProbe, disk_free_bytes
from capexplorer.read.machine import HostProbe
from capexplorer.read.metrics import AppProbe
from capexplorer.read.neighbours import snapshot
from capexplorer.read.ports import PortsProbe
from capexplorer.read.probes import Probes
from capexplorer.read.target import TargetProbe
from capexplorer.read.tcp import NamespaceListeners, TcpProbe
from capexplorer.run.live_levels import LiveLevels
from capexplorer.steer.requested_load import RequestedLoad
from lab.kit.runs import LAB, headless
from lab.kit.servers import free_port, listening, null_responder
from lab.trials.stacks import Planted, Stacks

from . import day_log

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


def cost_ms(act: Callable[[], object]) -> float:
    """CPU time of this thread during a call, user and system."""
    before = time.thread_time_ns()
    act()
    return (time.thread_time_ns() - before) / 1e6


# -- probes --------------------------------------------------------------------------------------------------------------------


def probe_cost(time_wait: int = 25_000, seconds: int = 10) -> None:
    """CPU cost of all probes at one read per second: CPU of the reading thread, as a share of one core. Goal: at most 1%.

    Measured without and with 25,000 sockets in TIME_WAIT, with 200 open connections and a target of 3 processes and 8 threads
    that serves metrics. The baselines are two simple ways to count ports: psutil.net_connections, and parsing /proc/net/tcp.
    Loopback only, in a network namespace of its own, since 25,000 sockets in TIME_WAIT need a large port range without reuse.
    """
    if _ran_in_namespace("--time-wait", str(time_wait), "--seconds", str(seconds)):
        return
    print(f"{'':56}{'TIME_WAIT':>12}{'mean ms':>10}{'max ms':>10}{'% of a core at 1 Hz':>22}")
    for count in (0, min(max(time_wait, 1), 60_000)):
        with ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=256))
            for _ in range(_CONNECTIONS):
                stack.enter_context(socket.create_connection(listener.getsockname()))
                stack.enter_context(listener.accept()[0])
            pid, port = stack.enter_context(_target())
            for _ in range(count):
                with socket.create_connection(listener.getsockname()):  # the client closes first, and waits
                    server, _ = listener.accept()
                server.close()
            _measure_probes(pid, port, seconds)


def _ran_in_namespace(*options: str) -> bool:
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
        command = ["unshare", flags, sys.executable, "-m", "lab.bench", "probe_cost", *options]
        environment = os.environ | {_INSIDE: "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        print(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout, end="")
        return True
    print("no network namespace: there will be fewer sockets in TIME_WAIT, and other processes' sockets count", file=sys.stderr)
    return False


@contextmanager
def _target() -> Iterator[tuple[int, int]]:
    with subprocess.Popen([sys.executable, "-c", _TARGET], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        children = psutil.Process(process.pid).children()
        try:
            yield process.pid, port
        finally:
            for each in (*children, process):
                each.kill()


def _measure_probes(pid: int, port: int, seconds: int) -> None:
    """Print one table: all probes together at 1 Hz, each probe alone half a second later, and the baselines three times."""
    url, tid = f"http://127.0.0.1:{port}/", threading.get_native_id()
    probes = Probes(load_tid=tid, screen_tid=tid, pump_tid=tid)
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
    started_s = time.monotonic()
    for tick in range(seconds):
        time.sleep(max(0.0, started_s + tick - time.monotonic()))
        costs["all probes"].append(cost_ms(lambda: probes.read(1.0)))
        time.sleep(0.5)
        for name, read in alone.items():
            costs[name].append(cost_ms(read))
    costs["baseline: psutil"] = [cost_ms(lambda: psutil.net_connections("tcp")) for _ in range(3)]
    costs["baseline: /proc/net/tcp"] = [cost_ms(_read_proc_net_tcp) for _ in range(3)]
    waiting = probes.read(1.0).tcp.sockets_time_wait
    for name, values in costs.items():
        mean = sum(values) / len(values)
        print(f"{name:56}{waiting!s:>12}{mean:>10.3f}{max(values):>10.3f}{mean / 10:>21.2f}%")
    for each in (probes, generator, watched, host, tcp, ports, cgroup, listeners):
        each.close()


def _read_proc_net_tcp() -> Counter[tuple[str, str]]:
    with open("/proc/net/tcp") as file:
        rows = (line.split(None, 4) for line in file.readlines()[1:])
        return Counter((row[2], row[3]) for row in rows)


# -- one analysis --------------------------------------------------------------------------------------------------------------


def look(levels: int = 24, repeats: int = 30) -> None:
    """CPU cost of one analysis during a run: all marks of an epoch of 24 levels, and the detection of leaks and shifts.

    CPU time of the thread, median of 30; the thread holds the interpreter lock all that time. The baseline is one verdict on the
    same levels: the ratio shows how much is computed in addition or more than once.
    """
    timeline = session(levels)
    context: Any = SimpleNamespace(timeline=timeline, epoch=0, now_s=lambda: timeline.last_s, emit=lambda event: None)
    live = LiveLevels(context, cast("RequestedLoad", None))  # whose load nothing here asks for
    marks = live.marks
    ladder = epoch_of(timeline, 0).judgeable

    def typical_ms(act: Callable[[], object]) -> float:
        return median(cost_ms(act) for _ in range(repeats))

    verdict_ms, all_ms = typical_ms(lambda: analyse(ladder)), typical_ms(marks.judge)
    print(f"a verdict on {len(ladder)} levels: {verdict_ms:.2f} ms; all marks: {all_ms:.2f} ms (at most 5), ", end="")
    print(f"{all_ms / verdict_ms:.2f} times a verdict")
    leaks_ms, shifts_ms = typical_ms(lambda: marks.emit_leaks(0)), typical_ms(live.split_at_shifts)
    print(f"detection of leaks: {leaks_ms:.2f} ms, of shifts: {shifts_ms:.2f} ms")


def session(levels: int) -> Timeline:
    """A session of that many levels, of which the last one is still open."""
    events = list(day_log.events(levels * 40, levels, seed=3))
    last = max(at for at, event in enumerate(events) if isinstance(event, LevelClosed))
    return Timeline(events[:last])


# -- HTTP clients --------------------------------------------------------------------------------------------------------------


def _request_us(user: object, requests: int) -> float:
    began_s = time.process_time()
    for _ in range(requests):
        user.client.get("/")  # type: ignore[attr-defined]
    return (time.process_time() - began_s) / requests * 1e6


def kept_requests() -> None:
    """The CPU cost, per request, of keeping a sample of whole requests.

    CPU time of the recorder's listener alone, in alternating batches of 1,000 calls with and without the sample; the minimum of
    each, since other processes can only add time. It is compared with a request of the lean client, the cheapest client.
    Cleaning a kept request, which happens once a second, is timed separately."""
    port = free_port()
    with listening(null_responder(port), port):
        without_us, keeping_us, failing_us, failing_kept_us, request_us = map(
            float, _in_a_patched_process("print_kept", str(port))
        )
    share = (keeping_us - without_us) / request_us
    print(
        f"the recorder: {without_us:.2f} us per request without, {keeping_us:.2f} with; a request of the lean client takes ",
        end="",
    )
    print(f"{request_us:.1f} us: the difference is {share:.1%} of it (at most 2%)")
    print(f"for a request that failed: {failing_us:.1f} us without, {failing_kept_us:.1f} with")
    print(f"to clean a kept request with 4 KiB of JSON: {_clean_ms():.2f} ms")


def _in_a_patched_process(function: str, *arguments: str) -> list[str]:
    """The words that a function of this module prints."""
    patched_first = f"from capexplorer.load import native; native.patch(); from lab.bench import costs; costs.{function}()"
    done = subprocess.run(
        [sys.executable, "-c", patched_first, *arguments], check=True, capture_output=True, text=True, timeout=300
    )
    return done.stdout.split()


def _kept(port: str) -> list[float]:
    """CPU time in microseconds: the listener without and with the sample, the same for failures, and a whole request."""
    from locust.contrib.fasthttp import LocustBadStatusCode
    from locust.env import Environment

    from capexplorer.load.kept_requests import RequestSampling
    from capexplorer.load.lean.user import LeanHttpUser
    from capexplorer.load.recorder import Recorder
    from capexplorer.session.redact_request import without_secrets

    user = type("User", (LeanHttpUser,), {"host": f"http://127.0.0.1:{port}", "abstract": False})(Environment(user_classes=[]))
    response = user.client.get("/")
    error, draw, calls = LocustBadStatusCode("http://127.0.0.1/", code=503), random.Random(5), 1_000

    def listener(exception: Exception | None, *, keeps: bool) -> Callable[[], float]:
        recorder = Recorder(sampling=RequestSampling(without_secrets) if keeps else None)
        recorder.begin_level(0)

        def batch_us() -> float:
            times_ms = [draw.lognormvariate(3, 0.5) for _ in range(calls)]
            began_s, called_s = time.time(), time.process_time()
            for response_ms in times_ms:
                recorder.on_request("GET", "/", response_ms, 2, exception, response, began_s, "http://127.0.0.1/")
            spent_s = time.process_time() - called_s
            recorder.drain(0.0, 0)
            return spent_s / calls * 1e6

        return batch_us

    batches = [listener(exception, keeps=keeps) for exception in (None, error) for keeps in (False, True)]
    least = [min(times) for times in zip(*([batch_us() for batch_us in batches] for _ in range(200)), strict=True)]
    return [*least, min(_request_us(user, 20_000) for _ in range(3))]


def traces(pairs: int = 100) -> None:
    """The CPU cost, per request, of the header `traceparent`, by client.

    CPU time of whole requests to a null responder, in alternating batches of 100 without and with it: the least without, and the
    median of the ratios of neighbouring batches, since other processes change slowly."""
    port = free_port()
    with listening(null_responder(port), port):
        words = _in_a_patched_process("print_traces", str(port), str(pairs))
    for client, least_us, ratio in zip(words[::3], map(float, words[1::3]), map(float, words[2::3]), strict=True):
        per_s = 1e6 / least_us
        print(f"{client:<13}{per_s:.0f} requests/CPU s without, {per_s / ratio:.0f} with ({1 / ratio - 1:+.1%})")


def print_traces() -> None:
    """Of each client its name, CPU time in microseconds of a request without the header, and the ratio with it."""
    from locust.env import Environment

    from capexplorer.load.hooks.hook import while_in_place
    from capexplorer.load.hooks.hook_table import TRACES
    from capexplorer.load.workload import HTTP_USERS

    for kind in HTTP_USERS:
        user = type("User", (kind,), {"host": f"http://127.0.0.1:{sys.argv[1]}", "abstract": False})(Environment(user_classes=[]))
        without_us, ratios = [], []
        for _ in range(int(sys.argv[2])):
            without_us.append(_request_us(user, 100))
            with while_in_place(TRACES):
                ratios.append(_request_us(user, 100) / without_us[-1])
        print(kind.__name__, min(without_us), median(ratios))


def streams(users: int = 30, seconds: int = 5) -> None:
    """The CPU cost of an event of a stream, by client, for a task of a profile and for a block of a locustfile.

    CPU time of the load thread, with all that belongs to a request, while each user reads 50 events a second from the target
    llm. The fewer events a second there are, the more of them wake the thread one by one, as here."""
    port = free_port()
    serving = [sys.executable, "targets/llm/serve.py", "--port", str(port), "--slots", "1000", "--batch-cost", "0"]
    with listening(serving, port):
        words = _in_a_patched_process("print_streams", str(port), str(users), str(seconds))
    for client, task_us, block_us in zip(words[::3], map(float, words[1::3]), map(float, words[2::3]), strict=True):
        rates = f"{1e6 / task_us:,.0f} events/CPU s, in a block {1e6 / block_us:,.0f}"
        print(f"{client:<13}{task_us:.1f} us an event in a task, {block_us:.1f} in a block: {rates}")


def print_streams() -> None:
    """Of each client its name, and the CPU time in microseconds of an event in a task and in a block."""
    import gevent
    from locust.env import Environment

    from capexplorer.load.recorder import Recorder
    from capexplorer.load.streams import stream
    from capexplorer.load.workload import from_profile
    from capexplorer.profile import Task, Users

    port, users, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    asked = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 20, "stream": True}
    task = Task(name="/v1/chat/completions", method="POST", json=asked, stream="openai")

    def block(user: Any) -> None:
        with stream(user.client, "POST", task.name, json=asked, events="openai") as events:
            for _ in events:
                pass

    def event_us(kind: Any, ask: Callable[[Any], None]) -> float:
        environment, recorder = Environment(user_classes=[]), Recorder()
        environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]

        def ask_on(user: Any) -> None:
            while True:
                ask(user)

        asking = [gevent.spawn(ask_on, kind(environment)) for _ in range(users)]
        gevent.sleep(1)
        recorder.drain(0.0, 0)
        began_s = time.thread_time()
        gevent.sleep(seconds)
        spent_s = time.thread_time() - began_s
        tokens = sum(each.tokens for each in recorder.drain(0.0, 0).endpoints)
        gevent.killall(asking)
        return spent_s / tokens * 1e6

    for client in ("lean", "fast", "requests"):
        kind = from_profile(Users(client=client, task=(task,)), f"http://127.0.0.1:{port}").classes[0]
        base = kind.__mro__[1].__name__
        print(base, event_us(kind, lambda user: user.tasks[0](user)), event_us(kind, block))


def _clean_ms(times: int = 50) -> float:
    from capexplorer.model.kept_request import Body, KeptRequest, RequestBrief
    from capexplorer.session.redact_request import without_secrets

    text = json.dumps([{"id": number, "name": f"item {number}", "token": "abc"} for number in range(200)])[:4096]
    request = KeptRequest(brief=RequestBrief(), received=Body(text=text, size_bytes=9_000, is_cut=True))
    began_s = time.process_time()
    for _ in range(times):
        without_secrets(request)
    return (time.process_time() - began_s) / times * 1000


def print_kept() -> None:
    print(*_kept(sys.argv[1]))


# -- what sampling stacks costs the service ------------------------------------------------------------------------------------


def stacks(
    services: tuple[str, ...] = ("python-pool", "python-gil", "go-mutex", "go-hash"), pairs: int = 6, seconds: int = 20
) -> None:
    """Rate and p99 of a service while its stacks are sampled, divided by those of the same load without: at a load that it has
    no trouble with, in turn."""
    print(f"{pairs} alternating pairs, {seconds} s each")
    print(f"{'service':>13} {'users':>6} {'/s':>7} {'p99 ms':>8} {'rate ratio':>11} {'p99 ratio':>10}   p99 ratio of each pair")
    for name in services:
        _sampled_in_turn(Stacks.cases[name], pairs, seconds)


def _sampled_in_turn(service: Planted, pairs: int, seconds: int) -> None:
    users = round(0.35 * service.users)  # its knee is at half of its users
    plan = ", ".join([f"{users}:{seconds}s, profile {seconds}s"] * pairs)
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / f"{service.name}.toml"
        profile.write_text(service.profile, encoding="utf-8")
        ran = headless(Path(folder), str(profile), "--plan", plan, timeout_s=3 * pairs * seconds + 120, cwd=LAB)
    known = [(each.opened.stacks, each.figures) for each in ran.timeline.levels if each.figures.settled]
    both: list[tuple[LevelFigures, LevelFigures]] = [
        (known[at][1], known[at + 1][1]) for at in range(len(known) - 1) if not known[at][0] and known[at + 1][0]
    ]
    rates = [after.goodput_rps / before.goodput_rps for before, after in both if after.goodput_rps and before.goodput_rps]
    p99s = [(before.latency_ms.p99, after.latency_ms.p99) for before, after in both]
    ratios = [after / before for before, after in p99s if before and after]
    base_rps, base_ms = (
        median(each) for each in zip(*((b.goodput_rps or 0.0, b.latency_ms.p99 or 0.0) for b, _ in both), strict=True)
    )
    each = " ".join(f"{ratio:.2f}" for ratio in ratios)
    print(
        f"{service.name:>13} {users:6} {base_rps:7.1f} {base_ms:8.2f} {median(rates):11.3f} {median(ratios):10.2f}   {each}",
        flush=True,
    )
