"""`--redact`: removes names of hosts, addresses and file paths from events, before a format reads them.

Known names (of the machine, the target and `allow_hosts`) are removed wherever they occur as a word; addresses, hosts in URLs and
file paths are recognised by their form. Endpoint names stay, since a report is about them, but without hosts. Secrets are removed
when a session is recorded (`session/redact.py`), and again by `export --redact`, since older logs may contain some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from ..model.events import (
    Command,
    Ended,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    LevelClosed,
    Log,
    Mark,
    MarkChange,
    Note,
    PartState,
    Reanalysed,
    Sample,
    Target,
    TargetFacts,
    Unknown,
    Verdict,
)
from ..model.figures import LevelBin, LevelEndpoint, LevelFigures
from ..model.findings import AnyFinding, Blame, Cause, RepliesChanged
from ..model.readings import PortsReading
from ..model.verdicts import EndpointDegradation

# -- redacted parts ------------------------------------------------------------------------------------------------------------
# `--redact`: replaces the names of watched parts, which are often those of hosts, by numbers, and removes their places.


PART = "part-{}"
_HIDDEN = "redacted-host"
_NAMING = ("idle_parts", "may_wait_in", "peers_at_ease")
"""Readings whose values are names of parts."""


class RenamedParts:
    """Numbers the watched parts in the order in which the session names them, and replaces their names in events."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def _name(self, name: str) -> str:
        return self._numbers.setdefault(name, PART.format(len(self._numbers) + 1))

    def renamed(self, event: Event) -> Event:
        """The event with numbers in place of the names of parts."""
        match event:
            case Header():
                asked = event.profile.get("watch") or ()
                watched = [{"name": self._name(str(each.get("name"))), "at": _HIDDEN} for each in asked]
                return replace(event, profile={**event.profile, "watch": watched}) if watched else event
            case PartState():
                host = replace(event.host, name=None)
                machine = event.machine if event.machine in (None, "generator") else self._name(event.machine)
                reason = None if event.reason is None else _HIDDEN
                return replace(event, name=self._name(event.name), place=_HIDDEN, reason=reason, host=host, machine=machine)
            case Sample() if event.parts:
                return replace(event, parts=tuple(replace(each, name=self._name(each.name)) for each in event.parts))
            case LevelClosed():
                bins = tuple(replace(each, figures=self._figures(each.figures)) for each in event.bins)
                return replace(event, figures=self._figures(event.figures), bins=bins)
            case Mark():
                return self._mark(event)
            case Reanalysed():
                changes = (replace(each, key=self._key(each.key), recorded=each.recorded and self._mark(each.recorded),
                                   found=each.found and self._mark(each.found)) for each in event.changes)  # fmt: skip
                return replace(event, changes=tuple(changes))
        return event

    def _figures(self, figures: LevelFigures) -> LevelFigures:
        if not any(key.startswith("part.") for key in figures.readings):
            return figures
        return replace(figures, readings={self._reading(key): value for key, value in figures.readings.items()})

    def _reading(self, key: str) -> str:
        kind, _, rest = key.partition(".")
        name, _, own = rest.partition(".")
        return f"part.{self._name(name)}.{own}" if kind == "part" else key

    def _mark(self, mark: Mark) -> Mark:
        finding = mark.finding
        if not isinstance(finding, Blame):
            return mark
        if finding.part is None and not finding.unavailable and finding.readings.keys().isdisjoint(_NAMING):
            return mark
        renamed: dict[str, Any] = {
            "part": None if finding.part is None else self._name(finding.part),
            "unavailable": tuple(self._unread(each) for each in finding.unavailable),
        }
        named = {key: names for key in _NAMING if isinstance(names := finding.readings.get(key), str)}
        listed = {key: ", ".join(map(self._name, names.split(", "))) for key, names in named.items()}
        renamed["readings"] = {**finding.readings, **listed}
        if isinstance(finding, Cause) and finding.part is not None:
            renamed["example"] = _HIDDEN if finding.example else ""
        return replace(mark, key=self._key(mark.key), finding=replace(finding, **renamed))

    def _unread(self, reading: str) -> str:
        return f"part {self._name(reading.removeprefix('part '))}" if reading.startswith("part ") else reading

    def _key(self, key: str) -> str:
        """The key of a mark, of which the last piece may be the part's name."""
        return ":".join(self._numbers.get(each, each) if index > 1 else each for index, each in enumerate(key.split(":")))


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
_Each = TypeVar("_Each", EndpointTick, LevelEndpoint)
_Value = TypeVar("_Value")

_LOCAL = ("localhost",)
"""Names that identify no host, and that keep the text readable."""


def redacted(events: Iterable[Event]) -> Iterator[Event]:
    """The redacted events. The header must come first, since it has the known names."""
    text: Callable[[str], str] = _redactor(())
    parts = RenamedParts()
    for event in events:
        if isinstance(event, Header):
            text = _redactor(_names(event))
        yield parts.renamed(_event(event, text))


def _names(header: Header) -> tuple[str, ...]:
    """Names of hosts, the longest first, so that a longer one is replaced as a whole."""
    guards: dict[str, Any] = header.profile.get("guards") or {}
    found = {header.host.name or "", urlsplit(header.target.url).hostname or "", *map(str, guards.get("allow_hosts") or ())}
    found |= {name.partition(".")[0] for name in found if not name.replace(".", "").isdigit()}
    return tuple(sorted((name for name in found if name and name not in _LOCAL), key=lambda name: (-len(name), name)))


def _redactor(names: tuple[str, ...]) -> Callable[[str], str]:
    known = re.compile(rf"(?<![\w\-])(?:{'|'.join(map(re.escape, names))})(?![\w\-])", re.IGNORECASE) if names else None

    @lru_cache(maxsize=4096)
    def text(sentence: str) -> str:
        sentence = _SCHEME.sub(lambda found: found[1] + (found[3] if found[3].lower() in _LOCAL else HOST), sentence)
        sentence = _WINDOWS_PATH.sub(PATH, sentence)
        sentence = _UNIX_PATH.sub(PATH, sentence)
        sentence = _HOME.sub(PATH, sentence)
        return hosts(sentence)

    def hosts(sentence: str) -> str:
        sentence = _NAMED.sub(lambda found: found[1] + HOST, sentence)
        sentence = _IPV6.sub(ADDRESS, _IPV4.sub(ADDRESS, sentence))
        sentence = _HOST_PORT.sub(lambda found: found[0] if found[0].lower() in _LOCAL else HOST, _DOMAIN.sub(HOST, sentence))
        return known.sub(HOST, sentence) if known else sentence

    return text


def _endpoint_name(name: str, text: Callable[[str], str]) -> str:
    """The endpoint name without its host. Its path is one of the service, not of a file, and stays."""
    scheme = _SCHEME.match(name)
    return name if name.startswith("/") else f"{text(scheme[0])}{name[scheme.end() :]}" if scheme else text(name)


def _found(event: Verdict | Mark, text: Callable[[str], str]) -> Event:
    if isinstance(event, Mark):
        marked: Mark = replace(event, finding=_finding(event.finding, text))
        return marked
    first, rates = _degrading(event.first_endpoint, text), event.rates
    if rates is not None:
        rates = replace(rates, first_endpoint=_degrading(rates.first_endpoint, text))
    verdict: Verdict = replace(event, first_endpoint=first, rates=rates)
    return verdict


def _degrading(first: EndpointDegradation | None, text: Callable[[str], str]) -> EndpointDegradation | None:
    return None if first is None else replace(first, name=_endpoint_name(first.name, text))


def _event(event: Event, text: Callable[[str], str]) -> Event:
    match event:
        case Header():
            return _header(event, text)
        case Sample():
            return _sample(event, text)
        case LevelClosed():
            bins = tuple(_bin(each, text) for each in event.bins)
            return replace(event, endpoints=_endpoints(event.endpoints, text), figures=_figures(event.figures, text), bins=bins)
        case Verdict() | Mark():
            return _found(event, text)
        case Reanalysed():
            return replace(event, changes=tuple(_change(each, text) for each in event.changes))
        case Note() | Log():
            return replace(event, text=text(event.text))
        case Command():
            return replace(event, args=_plain(event.args, text))
        case Target():
            output = tuple(map(text, event.output))
            reason, version = (text(each or "") or None for each in (event.reason, event.version))
            return replace(event, reason=reason, version=version, params=_plain(event.params, text), output=output)
        case Ended():
            return replace(event, reason=text(event.reason), requests_file=text(event.requests_file or "") or None)
        case Unknown():
            return replace(event, fields=_plain(event.fields, text))
        case _:
            return event


def _finding(finding: AnyFinding, text: Callable[[str], str]) -> AnyFinding:
    """The redacted finding. Counts by endpoint (`GET /tasks/list`) keep the endpoints' paths."""
    if isinstance(finding, RepliesChanged):
        finding = replace(finding, name=_endpoint_name(finding.name, text))
    if isinstance(finding, Blame):
        finding = replace(finding, readings=_plain(finding.readings, text))
    if isinstance(finding, Cause):
        endpoints = {" ".join(_endpoint_name(word, text) for word in name.split(" ")): n for name, n in finding.endpoints.items()}
        check = None if finding.check is None else text(finding.check)
        finding = replace(finding, endpoints=endpoints, check=check, example=text(finding.example), logged=text(finding.logged))
    return finding


def _change(change: MarkChange, text: Callable[[str], str]) -> MarkChange:
    recorded, found = (None if mark is None else _event(mark, text) for mark in (change.recorded, change.found))
    figures = [replace(each, recorded=_plain(each.recorded, text), found=_plain(each.found, text)) for each in change.figures]
    return replace(change, recorded=recorded, found=found, figures=tuple(figures))


def _header(header: Header, text: Callable[[str], str]) -> Header:
    target = header.target
    facts = TargetFacts(
        name=text(target.name),
        url=text(target.url),
        command=tuple(map(text, target.command)),
        params=_plain(target.params, text),
        version=None if target.version is None else text(target.version),
    )
    label = None if header.label is None else text(header.label)
    return replace(
        header,
        label=label,
        source=None if header.source is None else text(header.source),
        profile=_profile(header.profile, text),
        target=facts,
        host=replace(header.host, name=None),
        id=text(header.id),
    )


def _profile(profile: dict[str, Any], text: Callable[[str], str]) -> dict[str, Any]:
    """The redacted profile. The paths in its title are endpoints, not files, and stay."""
    kept = {"title": _known_only(str(profile["title"]), text)} if profile.get("title") else {}
    return {**_plain(profile, text), **kept}


def _known_only(sentence: str, text: Callable[[str], str]) -> str:
    return " ".join(word if re.fullmatch(r"/[\w{}\-]+[,;:]?", word) else text(word) for word in sentence.split(" "))


def _sample(sample: Sample, text: Callable[[str], str]) -> Sample:
    endpoints: tuple[EndpointTick, ...] = _endpoints(sample.endpoints, text)
    failures, retried = (tuple(_failure(each, text) for each in ticks) for ticks in (sample.failures, sample.retried))
    ports = sample.ports
    if ports is not None and ports.destination is not None:
        ports = _portless(ports)
    others = sample.neighbours
    if others is not None and others.processes:
        others = replace(others, processes=_plain(others.processes, text))
    return replace(sample, endpoints=endpoints, failures=failures, retried=retried, ports=ports, neighbours=others)


def _figures(figures: LevelFigures, text: Callable[[str], str]) -> LevelFigures:
    """The redacted figures: names of other processes may contain names of hosts."""
    return replace(figures, other_processes=_plain(figures.other_processes, text)) if figures.other_processes else figures


def _bin(part: LevelBin, text: Callable[[str], str]) -> LevelBin:
    return replace(part, endpoints=_endpoints(part.endpoints, text), figures=_figures(part.figures, text))


def _portless(ports: PortsReading) -> PortsReading:
    return replace(ports, destination=ADDRESS)


def _failure(tick: FailureTick, text: Callable[[str], str]) -> FailureTick:
    signature: FailureSignature = replace(tick.signature, text=text(tick.signature.text))
    example = None if tick.example is None else text(tick.example)
    return replace(tick, name=_endpoint_name(tick.name, text), signature=signature, example=example)


def _endpoints(endpoints: tuple[_Each, ...], text: Callable[[str], str]) -> tuple[_Each, ...]:
    return tuple(
        each if (name := _endpoint_name(each.name, text)) == each.name else replace(each, name=name) for each in endpoints
    )


def _plain(value: _Value, text: Callable[[str], str]) -> _Value:
    found: Any = value
    if isinstance(found, str):
        found = text(found)
    elif isinstance(found, dict):
        found = {(text(key) if isinstance(key, str) else key): _plain(each, text) for key, each in found.items()}
    elif isinstance(found, list | tuple):
        found = type(found)(_plain(each, text) for each in found)
    result: _Value = found
    return result
