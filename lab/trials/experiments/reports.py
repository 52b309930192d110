"""The five load-test reports as data: what each author measured and concluded, and the runs here that repeat them."""

from __future__ import annotations

from dataclasses import dataclass

Table = tuple[tuple[str, ...], ...]
"""The header's cells, then each row's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One repetition. `marks`: ids that must be marked, each text may name alternatives, `a|b`; `never`: ids that must not be."""

    name: str
    profile: str
    report: str | None
    """The plan with the report's own levels; None: only the short plan exists."""
    short: str = "short"
    arguments: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    needs: str | None = None
    """A program without which it is left out."""

    def command(self, plan: str) -> tuple[str, ...]:
        """The arguments of `capexplorer run`."""
        return (self.profile, *self.arguments, "--plan", plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One of the five."""

    title: str
    about: str
    table: Table
    """The author's results."""
    concluded: str
    """The author's conclusion."""
    repeats: tuple[Repeat, ...]
    compare: tuple[tuple[str, str], ...] = ()
    """Names of repetitions to compare, in pairs."""


CPU_OF_ALL = "target_cpu_saturated|host_cpu_saturated"
"""The limit of a service with more processes than cores: its own cores, or those of the machine if other processes use them too."""

MIXED = Report(
    title="1. Mixed Flask service",
    about="A Flask service: 50% of requests to `/health`, 30% to `/io` (a blocking sleep of 200 ms), 20% to `/cpu` (a loop of about 30 ms). "
    "Users wait 0.1-0.5 s. Three minutes per level, on Windows, with CPU and memory watched in another window.",
    table=(
        ("users", "requests", "failures", "mean ms", "p95 ms", '"current RPS"', "requests / 180 s"),
        ("10", "4673", "0", "74.7", "220", "25.9", "26.0"),
        ("50", "21538", "0", "102.7", "280", "122.6", "119.7"),
        ("100", "31290", "7046", "256.2", "610", "122", "173.8 (goodput 134.7)"),
    ),
    concluded="At most 122 requests per second, reached around 50 users. (The totals give 174 at 100 users. 122 is Locust's ten-second "
    "rate after the generator had run out of ports, which the report does not mention.)",
    repeats=(
        Repeat(
            name="mixed",
            profile="mixed",
            report="report",
            marks=("knee|no_knee",),
            never=("ephemeral_port_exhaustion_time_wait",),
        ),
        Repeat(
            name="mixed-4-threads",
            profile="mixed",
            report="10:1m,15:1m,20:1m,30:1m,50:1m,100:1m",
            short="5:12s,10:12s,15:12s,20:12s,30:12s,50:12s,100:12s",
            arguments=("--set", "threads=4"),
            marks=("knee", "worker_pool_exhausted|lock_or_pool_limit"),
        ),
        Repeat(
            name="mixed-4-processes",
            profile="mixed",
            report=None,
            short="5:10s,10:10s,20:12s,40:12s,80:12s",
            arguments=("--set", "server=gunicorn", "--set", "workers=4", "--set", "threads=1"),
            marks=("knee", "worker_pool_exhausted"),
            never=("gil_bound",),
        ),
        Repeat(
            name="mixed-one-core",
            profile="mixed",
            report=None,
            short="5:10s,10:10s,20:10s,50:12s,100:12s,150:12s",
            arguments=("--limit", "target.cpus=[0]"),
            marks=("knee", "target_cpu_saturated"),
            never=("gil_bound",),
        ),
        Repeat(
            name="mixed-gunicorn",
            profile="mixed",
            report=None,
            short="10:10s,25:10s,50:10s,75:10s,100:12s,150:12s,200:12s",
            arguments=("--set", "server=gunicorn", "--set", "workers=4", "--set", "threads=8"),
            marks=("knee", CPU_OF_ALL),
            never=("gil_bound",),
        ),
        Repeat(name="ports", profile="ports", report="report", marks=("ephemeral_port_exhaustion_time_wait",), never=("knee",)),
        Repeat(name="mixed-cpu", profile="mixed-cpu", report="report", marks=("knee|at_or_below", "gil_bound")),
        Repeat(name="mixed-io", profile="mixed-io", report="report", never=("gil_bound",)),
    ),
    compare=(("mixed-cpu", "mixed-io"),),
)

TASKQUEUE = Report(
    title="2. Task queue",
    about="Each client submits a task every 5 s (http-fetch and factorial, 5:1), polls it once a second, and fetches the result. Steps of 40 "
    "users every 10 minutes, four Locust workers.",
    table=(
        ("users", "RPS", "p50 ms", "p95 ms", "what happened"),
        ("20", "14", "3", "6", ""),
        ("40", "26", "3", "6", ""),
        ("60", "38", "3", "6", ""),
        ("80", "54", "4", "8", ""),
        ("100", "64, then 0.1", "4", "9", "tasks queue, no errors"),
        ("120", "78, then 0", "5", "8", "tasks queue and fail"),
        ("80, 200, 60", "60, 90, 0, 40", "7", "8", "queues at 200; recovers at 60"),
    ),
    concluded="The optimum is 40-50 RPS at 80-100 users in one section, 40-60 RPS at 60-100 users in another; 110-200 users are served for 1-5 "
    'minutes; after a long run all requests failed with "too many open files", which the report calls a memory leak.',
    repeats=(
        Repeat(name="taskqueue", profile="taskqueue", report="report", marks=("knee|at_or_below", "queue_growth")),
        Repeat(
            name="taskqueue-stress",
            profile="taskqueue",
            report="stress",
            short="stress_short",
            marks=("load_shedding", "recovered|not_recovered"),
        ),
        Repeat(
            name="taskqueue-sharp",
            profile="taskqueue",
            report="sharp",
            short="sharp_short",
            marks=("queue_growth|load_shedding",),
        ),
        Repeat(
            name="taskqueue-endurance",
            profile="taskqueue",
            report=None,
            short="find knee,hold 60% knee 60s",
            marks=("knee",),
        ),
        Repeat(name="taskqueue-leak", profile="taskqueue-leak", report=None, marks=("fd_leak", "fd_exhaustion_target")),
    ),
)

KV = Report(
    title="3. Key-value server",
    about="An HTTP server in Go: a map behind a lock, `GET /get` and `POST /post`.",
    table=(
        ("run", "users, wait", "RPS", "GET mean/p99 ms", "POST mean/p99 ms"),
        ("baseline, 1:1", "1, 1-2 s", "0.6", "2.83 / 4", "3.03 / 5"),
        ("local, 3:1", "50, 0.5-1.5 s", "50.5", "1.85 / 7", "1.95 / 6"),
        ("4 Locust workers", "50", "49.2", "3.59 / 12", "3.67 / 10"),
        ("HttpUser", "50", "49.3", "2.22 / 8", "2.25 / 7"),
        ("FastHttpUser", "50", "48.6", "0.93 / 5", "1.03 / 6"),
    ),
    concluded="The server is the bottleneck (Amdahl), since four workers gave 1.002 times the rate of one. (50 users who wait 1 s and are served "
    "in 3 ms make 49.8 requests per second with any server.)",
    repeats=(
        Repeat(name="kv-http", profile="kv-http", report="report", marks=("think_time_limited",), never=("knee",)),
        Repeat(name="kv-fast", profile="kv-fast", report="report", marks=("think_time_limited",), never=("knee",)),
        Repeat(
            name="kv-1-worker",
            profile="kv-fast",
            report="report",
            arguments=("--workers", "1"),
            marks=("think_time_limited",),
            never=("knee",),
        ),
        Repeat(
            name="kv-4-workers",
            profile="kv-fast",
            report="report",
            arguments=("--workers", "4"),
            marks=("think_time_limited",),
            never=("knee",),
        ),
        Repeat(name="kv-go-plain", profile="kv-go-plain", report=None, marks=("target_crashed",), needs="go"),
        Repeat(name="kv-go-counter", profile="kv-go-counter", report=None, marks=("failed_check",), needs="go"),
    ),
    compare=(("kv-http", "kv-fast"), ("kv-1-worker", "kv-4-workers")),
)

WEBDAV_MARKS = ("knee", "generator_shares_host|generator_cpu_saturated")
"""Marks with every store: all cores of the machine are busy, and the generator uses a share of them."""

WEBDAV = Report(
    title="4. WebDAV service",
    about="ownCloud in a container, generator on the same machine. Each user creates an account, reads a 5 MB manual and writes a small file "
    "(3:1) with waits of 1 s, and removes the account.",
    table=(
        ("users", "SQLite p50 / p95 ms", "MariaDB + Redis p95 ms"),
        ("20 (1/s)", " / 400-450", "220-250"),
        ("50 (2/s)", "1000 / 1600-1800", "somewhat better"),
        ("100 (4/s)", "3200 / 6000", "7000 and more, worse"),
    ),
    concluded="With generator and service on one machine Locust used 61.7% of the CPU, so it was no test of the service; creating accounts makes "
    "latency rise at each step; in a slow ramp latency was flat up to 10-15 users.",
    repeats=(
        Repeat(name="webdav-sqlite", profile="webdav", report="report", arguments=("--set", "store=sqlite"), marks=WEBDAV_MARKS),
        Repeat(name="webdav-memory", profile="webdav", report="report", arguments=("--set", "store=memory"), marks=WEBDAV_MARKS),
        Repeat(
            name="webdav-postgresql",
            profile="webdav",
            report="report",
            arguments=("--set", "store=postgresql"),
            marks=WEBDAV_MARKS,
            needs="psql",
        ),
    ),
    compare=(("webdav-sqlite", "webdav-memory"), ("webdav-sqlite", "webdav-postgresql")),
)

STATIC_LIMITS = "generator_cpu_saturated|generator_shares_host|host_cpu_saturated"
"""The limit if the workers share the machine with nginx: the generator, or all cores."""

STATIC = Report(
    title="5. HTTP benchmarking tools against nginx",
    about="Two machines of 2 x 10 cores with 2 threads each; the best figures of each tool.",
    table=(
        ("tool", "RPS", "CPU of the tool"),
        ("wrk", "180,192", "488%"),
        ("wrk2", "187,280", "143%"),
        ("oha", "183,634", "1,119%"),
        ("oha without keep-alive", "10,298", "3,894%"),
        ("Locust, FastHttpUser, 200 users, 1 process", "4,299", ""),
        ("Locust, 8 processes", "32,387", ""),
    ),
    concluded="All tools except Locust reach about 180,000, so nginx or the network is the limit there.",
    repeats=(
        Repeat(name="static", profile="static", report="report", marks=("generator_cpu_saturated",), needs="nginx"),
        Repeat(
            name="static-2-workers",
            profile="static",
            report="report",
            arguments=("--workers", "2"),
            marks=(STATIC_LIMITS,),
            needs="nginx",
        ),
        Repeat(
            name="static-4-workers",
            profile="static",
            report="report",
            arguments=("--workers", "4"),
            marks=(STATIC_LIMITS,),
            needs="nginx",
        ),
        Repeat(
            name="static-no-keep-alive",
            profile="static-no-keep-alive",
            report="report",
            marks=("connection_churn",),
            needs="nginx",
        ),
    ),
)

REPORTS = {"mixed": MIXED, "taskqueue": TASKQUEUE, "kv": KV, "webdav": WEBDAV, "static": STATIC}
