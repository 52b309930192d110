"""Watched parts: what is read in addition to the target, by a profile's `[[watch]]` or `--watch NAME=TRANSPORT[:SELECTOR]`.

Here is how a part is described, with the URL of a server's own figures (`--watch "db=here:port 5432 postgres=URL"`); the package
`read` reads it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

PARTS_MOST = 16
"""Greatest number of parts: each makes the log grow every second, and needs rows on the screen."""

NAME_MOST = 32
NAME = r"(?#a name of letters, digits, - and _, at most 32)^[A-Za-z0-9][A-Za-z0-9_-]{0,31}\Z"

Selector = Literal["pid", "port", "cgroup", "container", "unit"]
SELECTORS: tuple[Selector, ...] = ("pid", "port", "cgroup", "container", "unit")

_SELECTED = re.compile(rf":\s*(?P<kind>{'|'.join(SELECTORS)})\s+(?P<value>\S+)\s*\Z")
_CONTAINERS = ("docker", "podman", "nerdctl", "kubectl")
"""Programs whose `exec` starts a shell in a container. There, without a selector, the tree of process 1 is read."""


Url = Annotated[str, Meta(pattern=r"(?#a URL such as http://HOST:PORT/PATH)^[a-z][a-z0-9+.-]*://[^\s]+\Z", max_length=1_000)]

StatsdUrl = Annotated[
    str,
    Meta(
        pattern=r"(?#an address of this machine's loopback such as udp://127.0.0.1:8125)^udp://(127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}\Z"
    ),
]

ServerKind = Literal["postgres", "redis", "nginx", "statsd", "prometheus"]
SERVERS: tuple[ServerKind, ...] = get_args(ServerKind)
"""Keys of a part that give the URL of a server's own figures."""

KNOWN_SERVERS: dict[str, ServerKind] = {
    "postgres": "postgres",
    "redis-server": "redis",
    "valkey-server": "redis",
    "nginx": "nginx",
    "mysqld": "prometheus",
    "mariadbd": "prometheus",
}
"""File names of the programs of well-known servers, and the key by which their own figures are read."""

EXAMPLES: dict[ServerKind, str] = {
    "postgres": "postgresql://USER@HOST/DATABASE",
    "redis": "redis://HOST:6379",
    "nginx": "http://HOST/status",
    "statsd": "udp://127.0.0.1:8125",
    "prometheus": "http://HOST:9104/metrics",
}
"""An example of each server's URL."""

HERE = "here"
"""Names this machine in place of a command: `--watch db=here`, `at = "here"`."""

_FIGURES = re.compile(rf"(?:^|\s+)(?P<key>{'|'.join((*SERVERS, 'metrics'))})=(?P<value>\S+)\s*\Z")


class PartSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One watched part ([watch.md](watch.md)), such as the target's database. Without a selector only the machine is read."""

    name: Annotated[str, Meta(pattern=NAME)]
    """Its name on the screen, in marks and in exports."""
    at: Annotated[str, Meta(max_length=1_000)] = ""
    """Command that starts a shell there, such as `docker exec -i db`. `here` or empty: this machine."""
    pid: Annotated[int, Meta(ge=1)] | None = None
    """Process whose tree is read."""
    port: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    """Port on which its process listens."""
    cgroup: str | None = None
    """Control group whose processes are read: a path below /sys/fs/cgroup."""
    container: str | None = None
    """Name of a container of docker or podman there."""
    unit: str | None = None
    """Name of a systemd unit there."""
    postgres: Url | None = None
    """PostgreSQL's own counts of connections, waits and locks. Keep the password in ~/.pgpass or PGPASSWORD."""
    redis: Url | None = None
    """Redis' clients, memory and operations, by the command INFO."""
    nginx: Url | None = None
    """nginx's stub_status page."""
    statsd: StatsdUrl | None = None
    """Listens there for what the service sends by the statsd protocol (gunicorn: `--statsd-host 127.0.0.1:8125`)."""
    prometheus: Url | None = None
    """Any page in Prometheus' text format: an exporter's, or the service's own (`http://127.0.0.1:{port}/metrics`)."""
    metrics: Annotated[tuple[str, ...], Meta(max_length=32)] = ()
    """Names of its metrics to keep, each as the sum over its labels; of a counter its growth per second. None: all, up to 256
    series."""

    def __post_init__(self) -> None:
        """`here` is this machine, not a program of that name."""
        if self.at.strip() == HERE:
            msgspec.structs.force_setattr(self, "at", "")

    @property
    def selected(self) -> tuple[Selector, str] | None:
        """(kind, value) of the selector; None: only the machine is read."""
        given = next(((kind, value) for kind in SELECTORS if (value := getattr(self, kind)) is not None), None)
        if given is None:
            return ("pid", "1") if self.is_in_container else None
        return given[0], str(given[1])

    @property
    def servers(self) -> dict[ServerKind, str]:
        """URLs of servers' own figures, by kind."""
        return {kind: url for kind in SERVERS if (url := getattr(self, kind)) is not None}

    @property
    def needs_port(self) -> bool:
        """Whether a URL of its servers has `{port}` for the target's port, which is known once the target is ready."""
        return any("{port}" in url for url in self.servers.values())

    def with_port(self, port: int) -> PartSpec:
        """With this port for `{port}` in the URLs of its servers."""
        return msgspec.structs.replace(self, **{kind: url.replace("{port}", str(port)) for kind, url in self.servers.items()})

    @property
    def has_reader(self) -> bool:
        """Whether its machine is read; False if only a server's URL is given."""
        is_placed = bool(self.at.strip()) or any(getattr(self, kind) is not None for kind in SELECTORS)
        return is_placed or not self.servers

    @property
    def is_here(self) -> bool:
        """Whether it is read on this machine, without a command such as ssh."""
        return not self.at.strip()

    @property
    def is_in_container(self) -> bool:
        """Whether its command enters a container."""
        words = self.at.split()
        return len(words) > 1 and words[0].rpartition("/")[2] in _CONTAINERS and "exec" in words

    @property
    def place(self) -> str:
        """Transport and selector as text, such as `ssh web1: port 8080` or `here: pid 4711`."""
        given = next((f": {kind} {value}" for kind in SELECTORS if (value := getattr(self, kind)) is not None), "")
        return (self.at.strip() or "here") + given if self.has_reader else ", ".join(self.servers)


def parsed_part(text: str) -> PartSpec:
    """The part that `NAME=TRANSPORT[:SELECTOR] [SERVER=URL]` describes, such as `db=here:port 5432 postgres=postgresql://me@db/shop`.
    Raises ValueError, whose text is what was expected.
    """
    name, equals, rest = text.partition("=")
    if not equals:
        raise ValueError(
            "expected NAME=TRANSPORT[:pid N|port N|cgroup PATH|container NAME|unit NAME], then postgres=URL or another server's"
        )
    rest, figures = _without_figures(rest)
    found = _SELECTED.search(f":{rest}" if rest.strip().startswith(SELECTORS) else rest)
    at = rest if found is None else rest[: max(0, len(rest) - len(found[0]))]
    given: dict[str, object] = {"name": name.strip(), "at": at.strip(), **figures}
    if found is not None:
        value = found["value"]
        given[found["kind"]] = int(value) if found["kind"] in ("pid", "port") and value.isdecimal() else value
    try:
        watch = msgspec.convert(given, PartSpec)
    except msgspec.ValidationError:
        raise ValueError(_expected(given)) from None
    for wrong in mistakes([watch]):
        raise ValueError(wrong[1])
    return watch


def _without_figures(rest: str) -> tuple[str, dict[str, object]]:
    """(the text without what follows transport and selector, keys of servers' own figures with their values)."""
    figures: dict[str, object] = {}
    while (found := _FIGURES.search(rest)) is not None:
        rest, value = rest[: found.start()], found["value"]
        figures[found["key"]] = tuple(value.split(",")) if found["key"] == "metrics" else value
    return rest, figures


def _expected(given: dict[str, object]) -> str:
    if not re.search(NAME, str(given["name"])):
        return f"expected a name of letters, digits, - and _, at most 32, before the =, got {str(given['name'])[:60]!r}"
    wrong = next((each for each in SERVERS if each in given and "://" not in str(given[each])), None)
    if wrong is not None:
        return f"expected a URL after {wrong}=, such as {EXAMPLES[wrong]}"
    kind = next((each for each in ("pid", "port") if each in given), None)
    return f"expected a whole number after {kind}, got {str(given[kind])[:60]!r}" if kind else "expected a shorter command"


def mistakes(parts: Sequence[PartSpec]) -> Iterator[tuple[str, str]]:
    """(key, what was expected) for parts that contradict themselves or each other."""
    if len(parts) > PARTS_MOST:
        yield "watch", f"expected at most {PARTS_MOST} parts, got {len(parts)}"
    for index, part in enumerate(parts):
        key = f"watch[{index}]"
        if part.name in (other.name for other in parts[:index]):
            yield f"{key}.name", f"expected a name of its own, got {part.name!r} again"
        if part.metrics and part.prometheus is None:
            yield f"{key}.metrics", "expected names of metrics only beside `prometheus`"
        if sum(getattr(part, kind) is not None for kind in SELECTORS) > 1:
            yield key, f"expected at most one of {', '.join(SELECTORS)}"
        try:
            shlex.split(part.at)
        except ValueError as error:
            yield f"{key}.at", f"expected a command, but its quotes do not match: {error}"
