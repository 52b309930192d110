"""`--redact`: removes names of hosts, addresses and file paths from events, before a format reads them.

Known names (of the machine, the target and `allow_hosts`) are removed wherever they occur as a word; addresses, hosts in URLs and
file paths are recognised by their form. Names of watched parts, which are often those of hosts, become numbers. Endpoint names
stay, since a report is about them, but without hosts. Secrets are removed when a session is recorded (`session/redact.py`), and
again by `export --redact`, since older logs may contain some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from ..model import events, experiments, figures, findings, proposals, readings, stacks, sweep, telemetry, verdicts
from ..model.events import Event, Header

PART = "part-{}"
HOST, ADDRESS, PATH = "redacted-host", "redacted-address", "redacted-path"

_SCHEME = re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://)([^\s/?#\"'<>@]*@)?(\[[^\]\s]*\]|[^\s/?#:\"'<>]+)", re.IGNORECASE)
_NAMED = re.compile(r"((?<![\w\-])(?:host|hostname|server|address)\s*[=:]\s*[\"']?)([a-z][\w.\-]*)", re.IGNORECASE)
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){7})(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])", re.IGNORECASE
)
_HOST_PORT = re.compile(r"(?<![\w./\-])[a-z][\w\-]*(?:(?:\.[\w\-]+)+(?=:\d{2,5}(?!\d))|(?=:\d{4,5}(?!\d)))", re.IGNORECASE)
_DOMAIN = re.compile(
    r"(?<![\w.\-])(?:[a-z0-9](?:[\w\-]*[a-z0-9])?\.)+"
    r"(?:com|net|org|io|dev|app|cloud|internal|intranet|local|localdomain|lan|corp|home|arpa|eu|de|uk|fr|ch|at|nl|us|cn|jp)(?![\w\-])",
    re.IGNORECASE,
)
"""Host names without a port, which look like names of exceptions; only common endings distinguish them."""
_UNIX_PATH = re.compile(r"(?<![\w/\]])(?:~[\w.\-]*|\.{1,2})?(?:/(?=[\w.~@+\-])[\w.~@+,=%\-]+){2,}/?")
_HOME = re.compile(r"(?<![\w/])/(?:home|root|tmp|work|srv|opt|usr|var|etc|mnt|Users)(?![\w\-])")
_WINDOWS_PATH = re.compile(r"(?<![\w])(?:[A-Za-z]:\\|\\\\)[^\s\"'<>|]+")

_LOCAL = ("localhost",)
"""Names that identify no host, and that keep the text readable."""

_Value = TypeVar("_Value")


def redacted(recorded: Iterable[Event]) -> Iterator[Event]:
    """The redacted events. The header must come first, since it has the known names."""
    session = _Redaction(())
    for event in recorded:
        if isinstance(event, Header):
            session = _Redaction(_names(event))
        yield session.structs(event)


def _names(header: Header) -> tuple[str, ...]:
    """Names of hosts, the longest first, so that a longer one is replaced as a whole."""
    guards: dict[str, Any] = header.profile.get("guards") or {}
    found = {header.host.name or "", urlsplit(header.target.url).hostname or "", *map(str, guards.get("allow_hosts") or ())}
    found |= {name.partition(".")[0] for name in found if not name.replace(".", "").isdigit()}
    return tuple(sorted((name for name in found if name and name not in _LOCAL), key=lambda name: (-len(name), name)))


def _known(names: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile(rf"(?<![\w\-])(?:{'|'.join(map(re.escape, names))})(?![\w\-])", re.IGNORECASE) if names else None


def _redactor(known: re.Pattern[str] | None) -> Callable[[str], str]:

    @lru_cache(maxsize=4096)
    def text(sentence: str) -> str:
        sentence = _SCHEME.sub(lambda found: found[1] + (found[3] if found[3].lower() in _LOCAL else HOST), sentence)
        for path in (_WINDOWS_PATH, _UNIX_PATH, _HOME):
            sentence = path.sub(PATH, sentence)
        sentence = _NAMED.sub(lambda found: found[1] + HOST, sentence)
        sentence = _IPV6.sub(ADDRESS, _IPV4.sub(ADDRESS, sentence))
        sentence = _HOST_PORT.sub(lambda found: found[0] if found[0].lower() in _LOCAL else HOST, _DOMAIN.sub(HOST, sentence))
        return known.sub(HOST, sentence) if known else sentence

    return text


class _Redaction:
    """What is removed from the events of one session, with a method for each way to redact a value: _FIELDS says where."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = _known(names)
        self.text = _redactor(self._names)
        self._parts: dict[str, str] = {}
        """Numbers of watched parts, in the order in which the session names them."""

    def structs(self, value: _Value) -> _Value:
        """A struct with its fields in _FIELDS redacted, or each of a tuple of structs."""
        if isinstance(value, tuple):
            return type(value)(map(self.structs, value))
        kind: type = type(value)
        found = {name: getattr(value, name) for name in _fields(kind)}
        changes = {name: _fields(kind)[name](self, given) for name, given in found.items() if given is not None}
        return replace(value, **changes) if changes else value  # type: ignore[type-var]

    def plain(self, value: Any) -> Any:
        """A text, or all texts in a plain value, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {(self.text(key) if isinstance(key, str) else key): self.plain(each) for key, each in value.items()}
        return type(value)(map(self.plain, value)) if isinstance(value, list | tuple) else value

    def endpoint(self, name: str) -> str:
        """An endpoint's name without its host. Its path is one of the service, not of a file, and stays."""
        scheme = _SCHEME.match(name)
        return name if name.startswith("/") else f"{self.text(scheme[0])}{name[scheme.end() :]}" if scheme else self.text(name)

    def endpoints(self, counts: dict[str, int]) -> dict[str, int]:
        """Counts by endpoint, such as `GET /tasks/list`."""
        return {self.request(name): count for name, count in counts.items()}

    def request(self, endpoint: str) -> str:
        """An endpoint with its method: `GET /tasks/list`."""
        return " ".join(map(self.endpoint, endpoint.split(" ")))

    def profile(self, profile: dict[str, Any]) -> dict[str, Any]:
        """A profile. The paths in its title are endpoints, not files, and stay."""
        words = str(profile.get("title") or "").split(" ")
        title = " ".join(word if re.fullmatch(r"/[\w{}\-]+[,;:]?", word) else self.text(word) for word in words)
        watched = [{"name": self.part(str(each.get("name"))), "at": HOST} for each in profile.get("watch") or ()]
        return {**self.plain(profile), **({"title": title} if title else {}), **({"watch": watched} if watched else {})}

    def part(self, name: str) -> str:
        """The number of a watched part."""
        return self._parts.setdefault(name, PART.format(len(self._parts) + 1))

    def machine(self, name: str) -> str:
        """The machine of a watched part."""
        return name if name == "generator" else self.part(name)

    def readings_of_parts(self, of_level: dict[str, float]) -> dict[str, float]:
        """Readings of which some keys have the name of a part (`part.NAME.target.cpu_ratio`), or labels of a metric."""
        return {self._key_of_reading(key): value for key, value in of_level.items()}

    def _key_of_reading(self, key: str) -> str:
        kind, *rest = key.split(".", 2)
        own = rest[-1] if kind == "part" and len(rest) == 2 else key
        shown = self.text(own) if "{" in own else own
        return shown if own == key else f"part.{self.part(rest[0])}.{shown}"

    def readings(self, of_finding: dict[str, Any]) -> dict[str, Any]:
        """Readings of a finding, of which some are names of parts."""
        named = {key: value for key in _NAMING if isinstance(value := of_finding.get(key), str)}
        return {**self.plain(of_finding), **{key: ", ".join(map(self.part, names.split(", "))) for key, names in named.items()}}

    def unavailable(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Readings that could not be taken, such as `part db`."""
        return tuple(f"part {self.part(each.removeprefix('part '))}" if each.startswith("part ") else each for each in names)

    def key(self, key: str) -> str:
        """The key of a mark, of which the last piece may be the part's name."""
        return ":".join(self._parts.get(each, each) if index > 1 else each for index, each in enumerate(key.split(":")))

    def finding(self, finding: findings.AnyFinding) -> findings.AnyFinding:
        """A finding; what a part itself said is removed as a whole."""
        found = self.structs(finding)
        is_of_part = isinstance(found, findings.Cause) and found.part is not None and found.example
        return replace(found, example=HOST) if is_of_part else found

    def known(self, function: str) -> str:
        """The name of a function, of which only the known names are removed: `java.io.Reader` looks like a host."""
        return self._names.sub(HOST, function) if self._names else function

    def file(self, path: str) -> str:
        """A source file without its folders."""
        name = path.replace("\\", "/").rpartition("/")[2]
        return path if name == path else f"{PATH}/{name}"

    def host(self, _: str) -> str:
        """Whatever it is, which names a host."""
        return HOST


_NAMING = ("idle_parts", "may_wait_in", "peers_at_ease")
"""Readings whose values are names of parts."""

_R = _Redaction
_FIELDS: Mapping[type, Mapping[str, Callable[[_Redaction, Any], Any]]] = {
    Header: {
        **dict.fromkeys(("id", "label", "source"), _R.plain), "profile": _R.profile, "target": _R.structs, "host": _R.structs,
        "trace_url": lambda *_: None,
    },
    events.TargetFacts: dict.fromkeys(("name", "url", "command", "params", "version"), _R.plain),
    events.HostFacts: {"name": lambda *_: None},
    events.Sample: {
        **dict.fromkeys(("endpoints", "metrics", "failures", "retried", "ports", "neighbours", "parts"), _R.structs),
        "app": _R.plain,
    },
    events.EndpointTick: {"name": _R.endpoint},
    events.FailureTick: {"name": _R.endpoint, "signature": _R.structs, "example": _R.plain},
    events.FailureSignature: {"text": _R.plain},
    readings.PortsReading: {"destination": lambda *_: ADDRESS},
    readings.NeighboursReading: {"processes": _R.plain},
    readings.PartReading: {"name": _R.part, "server": _R.plain},
    events.LevelClosed: dict.fromkeys(("endpoints", "metrics", "figures", "bins"), _R.structs),
    figures.LevelBin: dict.fromkeys(("endpoints", "metrics", "figures"), _R.structs),
    figures.LevelEndpoint: {"name": _R.endpoint},
    figures.LevelFigures: {"other_processes": _R.plain, "readings": _R.readings_of_parts},
    events.Verdict: dict.fromkeys(("first_endpoint", "rates"), _R.structs),
    verdicts.RateVerdict: {"first_endpoint": _R.structs},
    verdicts.EndpointDegradation: {"name": _R.endpoint},
    events.Mark: {"finding": _R.finding, "key": _R.key},
    findings.RepliesChanged: {"name": _R.endpoint},
    findings.Blame: {"readings": _R.readings, "part": _R.part, "unavailable": _R.unavailable},
    findings.Cause: {"endpoints": _R.endpoints, **dict.fromkeys(("check", "example", "logged"), _R.plain)},
    findings.Bottleneck: {"without_effect": _R.plain},
    events.LevelOpened: {"experiment": _R.structs},
    events.Proposed: {"proposal": _R.structs},
    proposals.Try: {"experiment": _R.structs},
    events.Explained: {"explanation": _R.structs},
    experiments.Explanation: dict.fromkeys(("outcomes", "inferences"), _R.structs),
    experiments.Outcome: {"experiment": _R.structs},
    experiments.Experiment: {"endpoint": _R.request, "param": _R.plain},
    experiments.Inference: {"endpoint": _R.request, "param": _R.plain},
    events.StacksSampled: {"sampled": _R.structs, "failed": _R.plain},
    stacks.SampledStacks: {"frames": _R.structs, "tool": _R.plain},
    stacks.Frame: {"function": _R.known, "file": _R.file},
    events.Telemetry: {"changes": _R.structs},
    telemetry.TelemetryChanges: dict.fromkeys(("series", "lines"), _R.structs),
    telemetry.BentSeries: {"name": _R.plain, "part": lambda session, name: name and session.part(name)},
    telemetry.BegunLines: {"text": _R.plain},
    events.Sweep: {"settings": _R.plain, "earlier": _R.structs},
    sweep.SettingResult: dict.fromkeys(("params", "session", "why"), _R.plain),
    events.Reanalysed: {"changes": _R.structs},
    events.MarkChange: {**dict.fromkeys(("recorded", "found", "figures"), _R.structs), "key": _R.key},
    events.FigureChange: dict.fromkeys(("recorded", "found"), _R.plain),
    events.Note: {"text": _R.plain},
    events.Log: {"text": _R.plain},
    events.Command: {"args": _R.plain},
    events.Target: dict.fromkeys(("reason", "version", "params", "output"), _R.plain),
    events.PartState: {"name": _R.part, "place": _R.host, "reason": _R.host, "host": _R.structs, "machine": _R.machine},
    events.Ended: dict.fromkeys(("reason", "requests_file"), _R.plain),
    events.Unknown: {"fields": _R.plain},
}  # fmt: skip
"""By struct: its fields that may contain a name, and how each is redacted. No other field has text of people or services."""


@cache
def _fields(kind: type) -> Mapping[str, Callable[[_Redaction, Any], Any]]:
    """Those of a struct and of what it is derived from."""
    return {name: how for each in kind.__mro__ for name, how in _FIELDS.get(each, {}).items()}
