"""The app with its screen, as its user sees it: latency and rate beside plain Locust, first paint, keys, output, the picker."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from statistics import median

import msgspec

from capexplorer import paths
from capexplorer.commands.pick import SessionFolders
from capexplorer.model.events import Header, LevelOpened
from capexplorer.session.beside import Digest, digest_path
from capexplorer.session.catalog import NAME
from capexplorer.session.files import write_whole
from capexplorer.tui.picker_app import PickerApp
from lab.kit.runs import PROGRAM, Ran, events_of, headless
from lab.kit.servers import fast_server, free_port
from lab.kit.tables import mean, percentile
from lab.kit.terminal import OnTerminal, command_on_terminal, on_terminal

BIN = Path(sys.executable).parent
SIZE = (120, 40)

LOCUSTFILE = """\
import atexit, json, time
from locust import FastHttpUser, HttpUser, constant, events, task

latencies_ms, starts = [], []

@events.request.add_listener
def on_request(response_time, exception=None, **_):
    latencies_ms.append(response_time)
    starts.append(time.time())

@events.quitting.add_listener
def on_quitting(**_):
    with open({out!r}, "w") as file:
        json.dump([starts, latencies_ms], file)

class BenchUser({kind}):
    wait_time = constant({wait_s})

    @task
    def get(self):
        self.client.get("/")
"""


def profile_of(
    folder: Path, url: str, *, users: int = 1, wait_s: float = 0, client: str = "fast", path: str = "/", more: str = ""
) -> str:
    """Writes a profile into the folder; returns its path."""
    profile = folder / "bench.toml"
    of_users = f'wait_s = {wait_s}\nstart = {users}\nclient = "{client}"\n{more}'
    profile.write_text(f'title = "benchmark"\nurl = "{url}"\n[users]\n{of_users}[[users.task]]\nname = "{path}"\n')
    return str(profile)


@contextmanager
def on_screen(
    url: str, *arguments: str, users: int, wait_s: float, client: str = "fast", path: str = "/"
) -> Iterator[OnTerminal]:
    """The app on a terminal, once its level settles. It must have ended at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        profile = profile_of(Path(folder), url, users=users, wait_s=wait_s, client=client, path=path)
        with on_terminal(Path(folder), profile, *arguments, size=SIZE) as run:
            run.seen_s(b"settl")
            yield run


def app(url: str, *arguments: str, users: int, wait_s: float, seconds: float, client: str = "fast") -> Ran:
    """The app with its screen at one level, for that many seconds."""
    with on_screen(url, *arguments, users=users, wait_s=wait_s, client=client) as run:
        time.sleep(seconds)
        return Ran.of(run.sessions, run.quit())


def headless_locust(url: str, *, users: int, wait_s: float, seconds: float, client: str = "fast") -> tuple[float, list[float]]:
    """Plain headless Locust: (requests per second, latencies in ms), without its first 4 s, since the app does not count its
    first seconds either."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        kind = {"fast": "FastHttpUser", "requests": "HttpUser"}[client]
        (Path(folder) / "bench_locust.py").write_text(LOCUSTFILE.format(out=str(out), kind=kind, wait_s=wait_s))
        words = ["-f", "bench_locust.py", "--headless", "-H", url, "-u", str(users), "-r", str(users)]
        words += ["-t", f"{seconds + 4:.0f}s", "--only-summary", "--loglevel", "ERROR"]
        subprocess.run([str(BIN / "locust"), *words], cwd=folder, check=True, capture_output=True)
        starts, latencies_ms = json.loads(out.read_text())
    first_s = starts[0] + 4
    kept = [(at, ms) for at, ms in zip(starts, latencies_ms, strict=True) if at >= first_s]
    return len(kept) / (kept[-1][0] - first_s), [ms for _, ms in kept]


def p50_and_p99_ms(ran: Ran) -> tuple[float, float]:
    p50_ms, p99_ms = ran.latency().percentiles_ms((0.50, 0.99))
    return p50_ms or 0.0, p99_ms or 0.0


def in_pairs(pairs: int, names: tuple[str, str], measure: Callable[[str], tuple[float, float]]) -> list[float]:
    """Measures (p50, p99) in ms of both, in turn, the first one first in every other pair; returns the ratios of the p99, those
    of the second name over those of the first."""
    ratios, differences_ms = [], []
    print(f"{f'{names[0]} p50':>13} {'p99 ms':>8} {f'{names[1]} p50':>13} {'p99 ms':>8} {'p99 ratio':>10}")
    for index in range(pairs):
        found = {name: measure(name) for name in (names if index % 2 == 0 else names[::-1])}
        (a50, a99), (b50, b99) = found[names[0]], found[names[1]]
        ratios.append(b99 / a99)
        differences_ms.append(b99 - a99)
        print(f"{a50:13.2f} {a99:8.2f} {b50:13.2f} {b99:8.2f} {ratios[-1]:10.2f}", flush=True)
    print(f"median difference {median(differences_ms):+.2f} ms")
    return ratios


def p99(pairs: int = 5, workers: int = 0) -> None:
    """p99 of the app with its screen, divided by that of plain headless Locust, on the same fast server: 50 users wait 0.1 s
    between requests of FastHttpUser. With `workers` the users of the app run in worker processes."""
    seconds, of_workers = 20.0, (("--workers", str(workers)) if workers else ())

    def measure(name: str) -> tuple[float, float]:
        if name == "app":
            return p50_and_p99_ms(app(url, *of_workers, users=50, wait_s=0.1, seconds=seconds))
        _, latencies_ms = headless_locust(url, users=50, wait_s=0.1, seconds=seconds)
        return percentile(latencies_ms, 0.50), percentile(latencies_ms, 0.99)

    with fast_server() as (name, url):
        print(f"{name}; 50 users, 0.1 s wait, {seconds:.0f} s each, {pairs} alternating pairs, {workers} workers")
        ratios = in_pairs(pairs, ("locust", "app"), measure)
    print(f"median ratio {median(ratios):.2f} (goal 1.1, at most 1.3)")


def metrics(pairs: int = 5) -> None:
    """p99 of the app with its screen while Prometheus scrapes it each second, divided by that without `--metrics`: 50 users wait
    0.1 s between requests of FastHttpUser."""
    seconds, users, wait_s = 20.0, 50, 0.1

    def measure(name: str) -> tuple[float, float]:
        if name == "without":
            return p50_and_p99_ms(app(url, users=users, wait_s=wait_s, seconds=seconds))
        port = free_port()
        with scraped(port):
            return p50_and_p99_ms(app(url, "--metrics", f"127.0.0.1:{port}", users=users, wait_s=wait_s, seconds=seconds))

    with fast_server() as (name, url):
        print(f"{name}; {users} users, {wait_s} s wait, {seconds:.0f} s each, {pairs} alternating pairs")
        ratios = in_pairs(pairs, ("without", "scraped"), measure)
    print(f"median ratio {median(ratios):.2f} (goal 1.0, at most 1.1)")


@contextmanager
def scraped(port: int) -> Iterator[None]:
    """Metrics at this port are read each second. Raises RuntimeError if none ever were."""
    stop, texts = threading.Event(), list[int]()

    def scrape() -> None:
        while not stop.wait(1.0):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
                texts.append(len(reply.read()))

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if not texts:
        raise RuntimeError(f"port {port}: no metrics were read")
    print(f"{len(texts)} scrapes, the last one of {texts[-1] / 1000:.1f} kB")


def saturation(pairs: int = 5) -> None:
    """Requests per second at saturation, FastHttpUser without waits: the app with its screen, divided by plain headless
    Locust."""
    ratios, users, seconds = [], 50, 10.0
    with fast_server() as (name, url):
        print(f"{name}; {users} users without waits, {seconds:.0f} s each, {pairs} alternating pairs")
        print(f"{'locust rps':>11} {'app rps':>9} {'ratio':>7}")
        for _ in range(pairs):
            locust_rps, _latencies = headless_locust(url, users=users, wait_s=0, seconds=seconds)
            app_rps = app(url, users=users, wait_s=0, seconds=seconds).rate_rps()
            ratios.append(app_rps / locust_rps)
            print(f"{locust_rps:11.0f} {app_rps:9.0f} {ratios[-1]:7.3f}", flush=True)
    print(f"median ratio {median(ratios):.3f} (goal 0.95, at least 0.85)")


def paint(times: int = 7) -> None:
    """Seconds from the start of a command to the first paint of its screen, or to its end."""

    def ends(*words: str) -> float:
        began_s = time.monotonic()
        subprocess.run(words, check=True, capture_output=True)
        return time.monotonic() - began_s

    def paints() -> float:
        with tempfile.TemporaryDirectory() as folder, on_terminal(Path(folder), "--users", "0", size=SIZE) as run:
            first_s = run.seen_s(b"Throughput")
            time.sleep(1.0)
            run.quit()
            return first_s

    rows: dict[str, tuple[Callable[[], float], float | None]] = {
        "python -c pass (baseline)": (lambda: ends(sys.executable, "-c", "pass"), None),
        "import locust, textual.app (baseline)": (lambda: ends(sys.executable, "-c", "import locust, textual.app"), None),
        "capexplorer run: first paint": (paints, 1.3),
        "capexplorer --help": (lambda: ends(PROGRAM, "--help"), 0.5),
        "capexplorer profiles": (lambda: ends(PROGRAM, "profiles"), 0.5),
        "capexplorer sessions": (lambda: ends(PROGRAM, "sessions"), 0.5),
        "capexplorer export --help": (lambda: ends(PROGRAM, "export", "--help"), 0.5),
    }
    print(f"median of {times}, s")
    for name, (measure, most) in rows.items():
        print(f"{name:40} {median(measure() for _ in range(times)):6.2f}" + (f"   (at most {most})" if most else ""), flush=True)


def keys(count: int = 20) -> None:
    """Delay from a key press to the changed number of wanted users: from sending the key to the opening of the level, wall
    time."""
    pressed_s, echoed_s = [], []
    with fast_server() as (name, url), on_screen(url, users=50, wait_s=0.1) as run:
        time.sleep(3)
        for _ in range(count):
            before, sent_s = len(run.chunks), time.monotonic()
            pressed_s.append(time.time())
            run.type("+")
            while len(run.chunks) == before:
                time.sleep(0.001)
            echoed_s.append(run.chunks[before][0] - sent_s)
            time.sleep(0.37)  # so that keys are not synchronous with the redraw once a second
        events = Ran.of(run.sessions, run.quit()).events
    began_s = datetime.fromisoformat(events_of(events, Header)[0].started_at).timestamp()
    opened_s = [began_s + event.t_s for event in events_of(events, LevelOpened)][1 : 1 + count]
    delays_ms = sorted((opened - pressed) * 1000 for opened, pressed in zip(opened_s, pressed_s, strict=True))
    echoes_ms = sorted(each * 1000 for each in echoed_s)
    print(f"{name}; 50 users, 0.1 s wait; {count} keys")
    print(f"key to level opened, ms: median {delays_ms[count // 2]:.1f}, worst {delays_ms[-1]:.1f} (at most 150)")
    print(f"key to the screen's output, ms: median {echoes_ms[count // 2]:.1f}, worst {echoes_ms[-1]:.1f} (at most 150)")


def screen(seconds: float = 60.0) -> None:
    """Terminal output at 120x40 in 256 colours, and the CPU of the screen's thread, while 50 users run and levels change: with a
    service that answers all requests, and with one that fails 100,000 requests per minute."""
    with fast_server() as (name, url):
        print(f"{name}; 50 users, 120x40, xterm-256color; {seconds:.0f} s")
        print("baseline: six panes redrawn whole at 1 Hz were 29 KB/s; goal 10, at most 20; the screen's thread at most 5%")
        for what, wait_s, path in (("0.1 s wait, answers", 0.1, "/"), ("0.025 s wait, fails", 0.025, "/fails"))[
            : 1 + (name == "nginx")
        ]:
            with on_screen(url, users=50, wait_s=wait_s, path=path) as run:
                time.sleep(2)
                first_bytes, began_s = sum(len(data) for _, data in run.chunks), time.monotonic()
                time.sleep(seconds / 2)
                middle_s = time.monotonic()
                for _ in range(6):
                    run.type("+")
                    time.sleep(seconds / 12)
                ended_s = time.monotonic()
                steady = run.bytes_between(began_s, middle_s) / (middle_s - began_s)
                stepping = run.bytes_between(middle_s, ended_s) / (ended_s - middle_s)
                samples = Ran.of(run.sessions, run.quit()).samples
            failures = sum(failure.count for sample in samples for failure in sample.failures)
            generators = [sample.generator for sample in samples if sample.generator]
            threads = [100 * mean(getattr(each, f"{who}_cpu_ratio") for each in generators) for who in ("screen", "recorder")]
            print(f"{what}: {failures / max(samples[-1].t_s, 1) * 60:,.0f} failures per minute")
            rates = f"steady {steady / 1e3:.1f} KB/s, a step every 5 s {stepping / 1e3:.1f} KB/s"
            print(f"  first screen {first_bytes / 1e3:.1f} KB, {rates}")
            print(f"  screen's thread {threads[0]:.1f}% of a core, the pump's {threads[1]:.1f}%", flush=True)


def shelf(sessions: int = 5_000) -> None:
    """The picker with a folder of many sessions: the time to list them, and the time from its start until the list is shown."""

    def took_s(act: Callable[[], object]) -> float:
        began_s = time.perf_counter()
        act()
        return time.perf_counter() - began_s

    async def shown(folder: SessionFolders) -> None:
        async with PickerApp((), folder).run_test(size=SIZE) as pilot:
            await pilot.pause()

    with tempfile.TemporaryDirectory() as name:
        folder, samples = Path(name), list(paths.sample_sessions().values())
        for index in range(sessions):
            log = folder / f"20260101-{index:06d}-sample.jsonl"
            shutil.copyfile(samples[index % len(samples)], log)
            status = log.stat()
            found = Digest(size_bytes=status.st_size, changed_ns=status.st_mtime_ns, verdict="No knee up to 10 users.", marks=3)
            write_whole(digest_path(log), msgspec.json.encode(found))
        listed, empty = SessionFolders([folder]), SessionFolders([folder / "none"])
        print(f"{sessions} sessions, listed for the first time: {took_s(listed.rows):.2f} s")
        cache = (folder / NAME).stat().st_size / 1024
        print(f"listed again ({cache:.0f} KiB of cache): {took_s(listed.rows):.2f} s (at most 1)")
        asyncio.run(shown(empty))  # imports modules, which is not measured
        alone_s, all_s = took_s(lambda: asyncio.run(shown(empty))), took_s(lambda: asyncio.run(shown(listed)))
        print(f"the picker from its start to the list: {all_s:.2f} s (at most 1), without sessions {alone_s:.2f} s")


def keep_alive(hold_s: float = 35.0) -> None:
    """Connections of 1,500 and 4,000 users with keep-alive, by client: the goal is one connection per user, which is never
    closed.

    Users wait 10 s between requests, so that a machine with two cores keeps up; each user sends several. With so many connections
    descriptors are above 1,023, which select() refuses.
    """
    with fast_server() as (name, url):
        print(f"{name}; users wait 10 s, {hold_s:.0f} s with all of them (connects per user at most 1.01)")
        head = ("client", "users", "requests", "connects", "per user", "closed by service", "by users")
        print("{:>10} {:>6} {:>9} {:>9} {:>8} {:>18} {:>9}".format(*head))
        for users in (1_500, 4_000):
            for client in ("fast", "requests", "lean"):
                with tempfile.TemporaryDirectory() as folder:
                    more = "spawn_rate = 150\n[guards]\nmax_users = 5000\n"
                    profile = profile_of(Path(folder), url, users=0, wait_s=10.0, client=client, more=more)
                    samples = headless(Path(folder), profile, "--plan", f"{users}:{hold_s:.0f}s", timeout_s=300).samples
                counted = [sample for sample in samples if sample.wanted == users]  # users that end close their connections
                requests = sum(tick.requests + tick.warmup_requests for sample in counted for tick in sample.endpoints)
                connects = sum(sample.connects for sample in counted)
                closed = [sum(getattr(each, name) or 0 for each in counted) for name in ("closed_by_service", "closed_by_users")]
                row = (client, users, requests, connects, f"{connects / users:.3f}", *closed)
                print("{:>10} {:>6} {:>9} {:>9} {:>8} {:>18} {:>9}".format(*row), flush=True)


@contextmanager
def replayed(path: Path, at: str, checkout: Path) -> Iterator[OnTerminal]:
    """`capexplorer replay` of a log on a terminal, by the code of a checkout."""
    with tempfile.TemporaryDirectory() as folder, command_on_terminal(
        Path(folder), str(path), "--at", at, program=(sys.executable, "-m", "capexplorer", "replay"), size=SIZE,
        PYTHONPATH=str(checkout), PYTHONSAFEPATH="1",
    ) as run:  # fmt: skip
        yield run
