"""`export --redact`: no format contains host names, addresses or paths of the session."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from kit.stacks import stacks
from msgspec.structs import replace
from session.samples import busy_sample

from capexplorer.model.events import (
    Event,
    FailureSignature,
    FailureTick,
    Header,
    LevelClosed,
    Log,
    Mark,
    Note,
    PartState,
    Sample,
    StacksSampled,
    Target,
    Telemetry,
    Verdict,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.findings import Cause
from capexplorer.model.readings import NeighboursReading, PartReading
from capexplorer.model.telemetry import BegunLines, BentSeries, TelemetryChanges
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation, RateVerdict
from capexplorer.report.formats import FORMATS, html, markdown
from capexplorer.report.redaction import _fields, redacted
from capexplorer.session.canonical import canonical

from .exported_sessions import HEADER, session, to_disk
from .made_sessions import with_causes

IDENTIFYING = (
    "bench-7", "db7", "corp.internal", "10.1.2.3", "fe80::1", "/home", "jd0", "/srv", "/etc", "venv", "limits.conf", "10.9.8.7",
    "cache-3", "build01", "C:\\Users",
)  # fmt: skip
IDENTIFYING_TEXT = (
    "bench-7: http://jd0:pw@10.9.8.7:8080/v1 refused, fe80::1 too; see /etc/app/limits.conf, ~/venv/bin/x, C:\\Users\\jd0\\x.log;"
    " HTTPConnectionPool(host='cache-3', port=6379) at build01:9000 via DB7.corp.internal"
)


STACKS = replace(
    stacks({"main* /home/jd0/shop/app.py:3; bench-7.Worker.run /srv/venv/lib/pool.py:4; java.io.Reader.read Reader.java:1": 1.0}),
    tool="py-spy of /home/jd0/venv",
)


def identifying_session() -> list[Event]:
    """A session with identifying text in every place that can have some."""
    died = Target(
        t_s=3.0, state="died", reason=IDENTIFYING_TEXT, output=(IDENTIFYING_TEXT,), params={"store": "/srv/data/store.db"}
    )
    header = msgspec.structs.replace(
        HEADER, label=IDENTIFYING_TEXT, profile={**HEADER.profile, "guards": {"allow_hosts": ["build01"]}}
    )
    endpoint = "http://db7.corp.internal:18080/orders"
    first = EndpointDegradation(method="GET", name=endpoint, users=20, column="latency", before=1.0, after=9.0)
    verdict = Verdict(t_s=3.0, first_endpoint=first, rates=RateVerdict(first_endpoint=first))
    series = BentSeries(
        name=IDENTIFYING_TEXT, part="db7", kind="gauge", before=0, load_before=1, after=1, load_after=2, since_s=1.0, q=0.0
    )
    line = BegunLines(text=IDENTIFYING_TEXT, count_below=0, count=1, first_s=1.0, load=2.0, q=0.0)
    return [
        *session(header=header, text=endpoint),
        verdict,
        Telemetry(t_s=3.0, changes=TelemetryChanges(bend=1.0, series=(series,), lines=(line,))),
        died,
        Note(t_s=3.0, text=IDENTIFYING_TEXT),
        Log(t_s=3.0, source="target", text=IDENTIFYING_TEXT),
        StacksSampled(t_s=3.0, level=0, sampled=(STACKS,), failed=(IDENTIFYING_TEXT,)),
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_contains_identifying_text(form: str, tmp_path: Path) -> None:
    to_disk(form, redacted(identifying_session()), tmp_path / "out")
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    contents = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in paths)
    texts = (each.decode(errors="replace") for each in contents)
    content = "\n".join(f"{path.name}\n{text}" for path, text in zip(paths, texts, strict=True)).lower()
    assert [word for word in IDENTIFYING if word.lower() in content.replace("cancel", "")] == []


def test_redacted_stacks_keep_the_functions_and_the_names_of_files() -> None:
    event = next(each for each in redacted(identifying_session()) if isinstance(each, StacksSampled))
    assert [(each.function, each.file) for each in event.sampled[0].frames] == [
        ("main", "redacted-path/app.py"),
        ("redacted-host.Worker.run", "redacted-path/pool.py"),
        ("java.io.Reader.read", "Reader.java"),
    ]
    assert event.sampled[0].tool == "py-spy of redacted-path"


def test_redaction_keeps_the_target_name_ports_and_cores() -> None:
    header = next(iter(redacted(session())))
    assert isinstance(header, Header)
    assert header.target.name == "mixed"
    assert header.target.url == "http://redacted-host:18080"
    assert header.target.command == ("redacted-path", "redacted-path", "--port", "18080")
    assert header.host.name is None
    assert header.host.cpus == 2


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("p95 rose to 300 ms at 12:30:15, ratio 3/4", "p95 rose to 300 ms at 12:30:15, ratio 3/4"),
        ("GET /health failed", "GET /health failed"),
        ("http://localhost:8080 answers", "http://localhost:8080 answers"),
        ("urllib3.exceptions.ReadTimeoutError", "urllib3.exceptions.ReadTimeoutError"),
        ("version 1.2.3, and/or 5 req/s", "version 1.2.3, and/or 5 req/s"),
        ("listen on [::1]:80 and 127.0.0.1", "listen on [redacted-address]:80 and redacted-address"),
        ("open /var/log/x.log: denied", "open redacted-path: denied"),
        ("the bench-7 box", "the redacted-host box"),
    ],
)
def test_only_identifying_text_is_removed(sentence: str, shown: str) -> None:
    *_, note = redacted([HEADER, Note(t_s=1.0, text=sentence)])
    assert isinstance(note, Note)
    assert note.text == shown


def test_endpoint_names_without_a_host_are_not_redacted() -> None:
    names = {tick.name for event in redacted(session()) if hasattr(event, "endpoints") for tick in event.endpoints}
    assert names == {"/health", "/io", "/cpu", "/tasks/{id}"}


def test_names_of_other_processes_are_redacted_if_they_are_the_host_name() -> None:
    host = msgspec.structs.replace(HEADER.host, name="buildbox")
    others = {"buildbox": 0.9, "cc1plus": 0.3}
    sample = msgspec.structs.replace(busy_sample(2.0), neighbours=NeighboursReading(cpu_ratio=1.2, processes=others))
    figures = LevelFigures(settled=True, other_processes=others)
    closed = LevelClosed(t_s=3.0, index=0, users=1, started_s=1.0, figures=figures)
    _, tick, level = redacted([msgspec.structs.replace(HEADER, host=host), sample, closed])
    assert isinstance(tick, Sample)
    assert tick.neighbours is not None
    assert isinstance(level, LevelClosed)
    assert tick.neighbours.processes == level.figures.other_processes == {"redacted-host": 0.9, "cc1plus": 0.3}


def test_names_and_places_of_watched_parts_are_replaced_by_numbers_in_all_formats(tmp_path: Path) -> None:
    watched = {"name": "payroll-db", "at": "ssh payroll-db", "unit": "payroll.service"}
    header = msgspec.structs.replace(HEADER, profile={**HEADER.profile, "watch": [watched]})
    unread = Cause(name="part_not_read", part="payroll-db", example="ssh: payroll-db: no route")
    reading = PartReading(name="payroll-db", age_s=0.2)
    figures = {"part.payroll-db.target.cpu_ratio": 1.5, "host.cpu_ratio": 1.0}
    figures |= dict.fromkeys(('part.payroll-db.server.up{instance="payroll-db:9104"}', 'app.up{to="payroll-db:9104"}'), 1.0)
    events: list[Event] = [
        each
        if not isinstance(each, LevelClosed)
        else msgspec.structs.replace(each, figures=msgspec.structs.replace(each.figures, readings=figures))
        for each in session(header=header)
    ]
    events += [
        PartState(t_s=3.0, name="payroll-db", state="read", place="ssh payroll-db", machine="payroll-db"),
        msgspec.structs.replace(busy_sample(3.0), parts=(reading,)),
        Mark(t_s=3.0, key="cause:part_not_read:payroll-db", state="open", finding=unread),
    ]
    for form in FORMATS.keys() - {"pprof", "speedscope"}:  # stacks alone
        to_disk(form, redacted(events), tmp_path / form)
    content = "\n".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "payroll" not in content
    assert "part-1 cannot be read" in content


def test_an_example_has_no_secrets_and_after_redaction_no_host_names() -> None:
    events = with_causes("GET http://ann:pw@db7.corp.internal/x?token=abc: Authorization: Bearer abcdef123=")
    recorded = [canonical(event) for event in events]
    assert not any(secret in markdown.render(Timeline(recorded)).decode() for secret in ("pw@", "abcdef123", "token=abc"))
    text = markdown.render(Timeline(redacted(recorded))).decode()
    assert "db7" not in text
    assert "GET /tasks/list 400" in text
    assert "/proc/17/fd" in text, "paths in the advice are not redacted: they are those of every system"


def test_failures_of_retried_requests_are_redacted() -> None:
    signature = FailureSignature(types=("OSError",), text="db7.corp.internal reset")
    retried = (FailureTick(name="http://db7.corp.internal:18080/x", method="GET", signature=signature, count=1),)
    tick = Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", retried=retried)
    *_, found = redacted([HEADER, tick])
    assert isinstance(found, Sample)
    assert "db7" not in str(found.retried)


def test_the_example_of_a_failure_is_in_the_page_and_is_redacted() -> None:
    signature = FailureSignature(types=("CatchResponseError",), text="lost_updates")
    example = "lost_updates: 90 at db7.corp.internal, 60 at 10.1.2.3, token=abc"
    failed = (FailureTick(name="/x", method="GET", signature=signature, count=1, example=example),)
    tick = Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", failures=failed)
    events = [canonical(event) for event in (HEADER, tick)]
    assert "e.g. lost_updates: 90 at db7.corp.internal, 60 at 10.1.2.3, token=***" in html.render(Timeline(events)).decode()
    page = html.render(Timeline(redacted(events))).decode()
    assert "lost_updates: 90 at redacted-host, 60 at redacted-address" in page
    assert "db7" not in page


HARMLESS = {
    "Header": ("started_at", "versions", "clients", "client_overhead_ms"),
    "HostFacts": ("system", "kernel", "python", "cpu_model"),
    "PartState": ("program", "denied"), "Target": ("program", "signal"), "Ended": ("signal",),
    "EndpointTick": ("method", "latency"), "LevelEndpoint": ("method", "latency"), "StageTick": ("latency",),
    "StageFigures": ("latency",), "FailureTick": ("method",),
    "EndpointDegradation": ("method",), "RepliesChanged": ("method",), "FailureSignature": ("types",),
    "OfferedTick": ("from_plan",), "OfferedFigures": ("from_plan",),
    "Cause": ("name", "competing", "statuses", "symptoms"), "Bottleneck": ("name", "competing"), "Leak": ("name", "competing"),
    "StopRule": ("rule",), "GoTo": ("figures",), "Done": ("figures",), "GiveUp": ("figures",),
    "SettingResult": ("limit", "invalid"), "Reanalysed": ("version",), "FigureChange": ("name",), "Unknown": ("original_type",),
}  # fmt: skip
"""Texts that are not redacted: words of capexplorer, of HTTP, of the system, and encoded histograms."""


def has_text(kind: Any) -> bool:
    """Whether a value of this type may be or contain a text of someone else."""
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return kind in (str, Any) or (get_origin(kind) is not Literal and not is_struct and any(map(has_text, get_args(kind))))


def structs_of(kind: Any) -> Iterator[type[msgspec.Struct]]:
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    if is_struct:
        yield kind
    for each in get_type_hints(kind).values() if is_struct else get_args(kind):
        yield from structs_of(each)


def test_every_text_of_an_event_is_redacted_or_known_to_be_harmless() -> None:
    left = {
        (struct.__name__, name)
        for event in Event.__subclasses__()
        for struct in structs_of(event)
        for name, kind in get_type_hints(struct).items()
        if name in struct.__struct_fields__ and has_text(kind) and name not in _fields(struct)
    }
    assert left == {(struct, name) for struct, names in HARMLESS.items() for name in names}
