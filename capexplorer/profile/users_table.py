"""`[users]`: what the users of a run request, and how long they wait in between."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from ..model.controls import SPAWN_RATE_LEAST, SPAWN_RATE_MOST
from ..model.offered import Arrivals
from .values import (
    DAY_S,
    HeaderName,
    HeaderValue,
    Method,
    Param,
    PerSecond,
    RequestPath,
    Seconds,
    Status,
    Table,
    Title,
    UserCount,
    ValueName,
    WorkerCount,
)

WEIGHT_MOST = 10_000
"""Locust picks from a list in which each task stands as often as its weight says: with 1,000 tasks 80 MB."""
TASKS_MOST = 1_000
PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
CSV_PATTERN = r"(?#FILE.csv or FILE.csv:COLUMN)^.*[.]csv(?::[^:]+)?\Z"
BODY_MOST_MB = 1_000_000.0
MAX_BODY_MB = 64.0


class Wait(Table, frozen=True, kw_only=True):
    """Think time between tasks, in seconds; exactly one key. Names and meanings are Locust's."""

    between: tuple[Seconds, Seconds] | None = None
    """Uniformly distributed between both values."""
    constant: Seconds | None = None
    """Always the same."""
    constant_pacing: Seconds | None = None
    """Time from the start of one task to the start of the next; after a longer task the next one starts at once."""
    constant_throughput: PerSecond | None = None
    """Tasks per second of one user."""
    poisson: PerSecond | None = None
    """Rate of exponentially distributed waits, 1/s."""


class Task(Table, frozen=True, kw_only=True):
    """One request that users make, picked by weight."""

    name: Title
    """Name of its row in every table; also the path, unless `path` is given."""
    weight: Annotated[int, Meta(ge=0, le=WEIGHT_MOST)] = 1
    """How often it is picked, relative to the other tasks; 0: never."""
    method: Method = "GET"
    """HTTP method."""
    path: RequestPath | None = None
    """Where the request goes. `${NAME}` stands for an environment variable here and in `headers`, `body` and `json`; the session
    records the reference, not the value."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Request headers by name: `Authorization = "${TOKEN}"` keeps a token out of the file."""
    body: str | None = None
    """Request body as text."""
    json: Any = None
    """Request body as a value that is sent as JSON, with its Content-Type."""
    expect_status: Status | Annotated[tuple[Status, ...], Meta(min_length=1)] | None = None
    """Statuses that count as success; default: 200 to 399."""

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """(key, text) of everything in which a reference or a placeholder may stand."""
        yield "path", self.path or ""
        yield from ((f"headers.{name}", text) for name, text in self.headers.items())
        yield "body", self.body or ""
        yield from (("json", text) for text in _strings(self.json))

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the values that each request draws: `sku` of `{{sku}}`."""
        texts = [self.name if self.path is None else "", *(text for _, text in self.texts)]
        return frozenset(name for text in texts for name in PLACEHOLDER.findall(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)


class Users(Table, frozen=True, kw_only=True):
    """The users that make load."""

    wait_s: Wait | Seconds = 0.0
    """Think time: seconds that a user waits after a task; a number, or a table for other distributions."""
    workers: WorkerCount | Literal["auto"] | None = None
    """Worker processes that run the users; "auto": one core less than there are, at least 1. Default: this process runs them."""
    start: UserCount = 1
    """Number of users when the live screen opens."""
    spawn_rate: Annotated[float, Meta(ge=SPAWN_RATE_LEAST, le=SPAWN_RATE_MOST)] | None = None
    """Users started per second; default: a step takes one second, at most 100 users per second."""
    arrivals: Arrivals = "poisson"
    """How iterations of a rate level arrive: at random with exponential gaps, or evenly."""
    client: Literal["fast", "requests", "lean"] = "fast"
    """`fast`: FastHttpUser; `requests`: HttpUser; `lean`: LeanHttpUser, with the least CPU per request."""
    keep_alive: bool = True
    """False: a new connection for each request, which the client closes as soon as it has the response, so the client's port
    stays in TIME_WAIT. A task with the header `Connection = "close"` asks the server to close first instead."""
    timeout_s: Annotated[float, Meta(gt=0, le=DAY_S)] = 30.0
    """A request that takes longer is a failure."""
    max_body_mb: Annotated[float, Meta(gt=0, le=BODY_MOST_MB)] = MAX_BODY_MB
    """Maximum size of a reply in MB after decompression: a larger one is a failure. Parts read with `stream=True` have no
    limit.
    """
    task: Annotated[tuple[Task, ...], Meta(max_length=TASKS_MOST)] = ()
    """The requests, each a table `[[users.task]]`."""
    values: dict[ValueName, Annotated[tuple[Param, ...], Meta(min_length=1)] | Annotated[str, Meta(pattern=CSV_PATTERN)]] = {}
    """What `{{NAME}}` in a task stands for: each request takes one at random from a list, or from a column of a CSV file
    (`"accounts.csv"`: the column NAME), relative to the profile. Columns of one file are of one row."""
    locustfile: str | None = None
    """Path of a Locust file, relative to the profile, instead of tasks."""


def csv_column(given: str, name: str) -> tuple[str, str]:
    """(file, column) of `FILE.csv` or `FILE.csv:COLUMN`, the value of this name."""
    file, colon, column = given.rpartition(":")
    return (file, column) if colon and file.endswith(".csv") else (given, name)
