"""The conditions under which a session was recorded: the header's facts as lines for a table."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import wording
from ..analysis.target_process import version_of
from ..model.clients import clients_of
from ..model.events import Header, HostFacts, Target
from ..model.limits import limits_in_profile
from ..model.timeline import Timeline
from ..wording.numbers import significant
from ..wording.quantities import latency_in_column, latency_title, size


@dataclass(frozen=True, slots=True)
class Fact:
    """One line. `foreign`: written by people or other programs, not by the app."""

    name: str
    value: str
    foreign: bool = False


def environment(timeline: Timeline) -> list[Fact]:
    """The known facts. Unknown ones are left out, except those of the host, which are listed as not measured."""
    header = timeline.header
    if header is None:
        return []
    return [
        *_session(header),
        *_target(header, timeline),
        *_load(header),
        *_host(header.host),
        *_parts(timeline),
        *_versions(header),
    ]


def _session(header: Header) -> Iterator[Fact]:
    yield Fact("session", header.id, foreign=True)
    if header.started_at:
        yield Fact("started", wording.wall_time(header.started_at), foreign=True)
    if header.source:
        yield Fact("imported", header.source, foreign=True)
    if header.label:
        yield Fact("label", header.label, foreign=True)


def _target(header: Header, timeline: Timeline) -> Iterator[Fact]:
    target = header.target
    yield Fact("target", target.name, foreign=True)
    if target.url:
        yield Fact("URL", target.url, foreign=True)
    if target.command:
        yield Fact("command", shlex.join(target.command), foreign=True)
    if version := version_of(timeline):
        yield Fact("version", version, foreign=True)
    starts = [each for each in timeline.journal if isinstance(each, Target) and each.state == "starting" and not each.reason]
    restarts = [each for each in starts if each.epoch]
    if target.params:
        yield Fact("parameters, epoch 0" if restarts else "parameters", _pairs(target.params), foreign=True)
    for each in restarts:
        yield Fact(f"parameters, epoch {each.epoch}", _pairs(each.params), foreign=True)


def _load(header: Header) -> Iterator[Fact]:
    users: dict[str, Any] = header.profile.get("users") or {}
    wait = users.get("wait_s")
    given: dict[str, Any] = {"constant": wait} if wait and isinstance(wait, float | int) else wait or {}
    if waits := {name: value for name, value in given.items() if value is not None}:
        yield Fact("wait, s", _pairs(waits), foreign=True)
    if clients := wording.clients(clients_of(header)):
        keep_alive = f", keep-alive {'on' if users['keep_alive'] else 'off'}" if "keep_alive" in users else ""
        yield Fact("client", f"{clients}{keep_alive}", foreign=True)
    if users.get("locustfile"):
        yield Fact("locustfile", str(users["locustfile"]), foreign=True)
    if limits := limits_in_profile(header.profile):
        yield Fact("limited to", _pairs(limits), foreign=True)
    for name, overhead in header.client_overhead_ms.items():
        p50, p99 = latency_in_column(overhead.p50_ms), latency_in_column(overhead.p99_ms)
        yield Fact(latency_title(f"client overhead of {name}", ", "), f"p50 {p50}, p99 {p99}")
    engine = header.engine
    if engine.mode is not None:
        yield Fact("engine", engine.mode if engine.mode == "in-process" else f"{engine.mode}: {engine.workers}")


def _host(host: HostFacts) -> Iterator[Fact]:
    if host == HostFacts():
        yield Fact("host", "not measured")
        return
    if host.name:
        yield Fact("host", host.name, foreign=True)
    yield Fact("system", " ".join(filter(None, (host.system, host.kernel))) or "not measured", foreign=True)
    cpus = significant(host.cpus) + (f" ({host.cpu_model})" if host.cpu_model else "")
    yield Fact("cores", cpus + (f", quota {significant(host.cgroup_cpus)}" if host.cgroup_cpus else ""), foreign=True)
    yield Fact("memory", size(host.memory_bytes))
    ports = f"{host.port_range[0]}–{host.port_range[1]}, " if host.port_range else ""
    yield Fact(
        "ephemeral ports", f"{ports}{significant(host.ports_capacity)} usable, tcp_tw_reuse {significant(host.tcp_tw_reuse)}"
    )
    yield Fact("limits", f"open files {significant(host.fds_limit)}, somaxconn {significant(host.somaxconn)}")


def _parts(timeline: Timeline) -> Iterator[Fact]:
    """Watched parts: where each is, and on what machine."""
    for part in timeline.parts.values():
        host = part.host
        cores = f"{significant(host.cpus)} cores" + (f", quota {significant(host.cgroup_cpus)}" if host.cgroup_cpus else "")
        known = (part.place, part.program, cores, f"memory {size(host.memory_bytes)}", host.kernel)
        yield Fact(f"watched part {part.name}", ", ".join(filter(None, known)), foreign=True)


def _versions(header: Header) -> Iterator[Fact]:
    if header.versions:
        yield Fact("versions", ", ".join(f"{name} {version}" for name, version in header.versions.items()), foreign=True)


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    return "–".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
