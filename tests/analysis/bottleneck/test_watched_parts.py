"""Bottlenecks of watched parts: levels with readings of parts in, the bottleneck and its part out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from analysis.loads import FACTS, READINGS, Load, closed_session
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.bottleneck.level_judgement import located
from capexplorer.analysis.bottleneck.measured_level import Found, MeasuredLevel, measured_levels
from capexplorer.analysis.bottleneck.watched_parts import watched_parts
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import FailureSignature, FailureTick, Mark, PartState, Sample
from capexplorer.model.findings import Bottleneck
from capexplorer.model.timeline import Timeline

IDLE = {name: value for name, value in READINGS.items() if name.startswith(("target.", "host."))} | {"read_ratio": 1.0}
"""Readings of an idle part that was read in every second."""

SATURATED = {"target.cpu_ratio": 3.8, "host.cpu_ratio": 3.9, "target.busiest_thread_ratio": 0.9}

Readings = Mapping[str, float]


def part(name: str, machine: str | None = None, program: str = "postgres", state: str = "read") -> PartState:
    known = {"t_s": 1.0, "name": name, "state": state, "machine": machine or name, "program": program, "reason": "cut"}
    return msgspec.structs.replace(msgspec.convert(known, PartState), host=FACTS)


def session(parts: Mapping[str, Readings], *, known: tuple[PartState, ...] = (), unread: tuple[str, ...] = (),
            grows: bool = False, own: Readings | None = None) -> Timeline:  # fmt: skip
    """Three levels that scale, then two that stay flat; in those the parts have these readings beside IDLE."""

    def of(name: str, more: Readings) -> dict[str, float]:
        return {f"part.{name}.{key}": value for key, value in {**IDLE, **more}.items()}

    quiet = {key: value for name in parts for key, value in of(name, {}).items()}
    busy = {key: value for name, more in parts.items() for key, value in of(name, more).items()} | dict(own or {})
    flat = ((16, 160, 50), (32, 320, 50)) if grows else ((16, 100, 110), (32, 100, 270))
    loads = [Load(users, rate, latency, readings=quiet, unread=unread) for users, rate, latency in ((2, 20, 50), (4, 40, 50))]
    loads += [Load(users, rate, latency, readings=busy, unread=unread) for users, rate, latency in flat]
    timeline = closed_session(*loads)
    for each in known or tuple(part(name) for name in parts):
        timeline.apply(each)
    return timeline


def marks(timeline: Timeline) -> list[Mark]:
    return [mark for mark in bottlenecks.marks(epoch_of(timeline, 0)) if mark.id not in ("not_saturated", "think_time_limited")]


def blamed(timeline: Timeline) -> set[tuple[str, str | None]]:
    return {(mark.id, mark.finding.part) for mark in marks(timeline)}  # type: ignore[union-attr]


UNWATCHED = tuple(name for name in READINGS if name.startswith("target."))
"""Readings that are missing if the target runs on another machine and is not watched."""


@pytest.mark.parametrize(
    ("readings", "found"),
    [
        (SATURATED, "target_cpu_saturated"),
        ({"target.cpu_ratio": 1.0, "target.busiest_thread_ratio": 0.98, "host.cpu_ratio": 1.2}, "single_thread_cpu_saturated"),
        ({"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "target.written_bytes_per_s": 5e6}, "disk_saturated"),
        ({"target.listen_queue": 40.0}, "worker_pool_exhausted"),
        ({"target.fds_fullest": 1020.0}, "open_files_limit"),
        ({"target.fds_fullest": 850.0, "target.fds_full_ratio": 0.4, "target.listen_queue": 30.0}, "open_files_limit"),
        ({"target.throttled_ratio": 0.4}, "cpu_throttled"),
        ({"server.connections": 40.0, "server.connections_limit": 40.0, "server.active": 38.0}, "connection_limit"),
        ({"server.connections": 64.0, "server.rejected_connections_per_s": 3.0}, "connection_limit"),
        ({"server.lock_waits": 34.0, "server.active": 40.0}, "lock_waits"),
    ],
)  # fmt: skip
def test_a_bottleneck_is_that_of_the_part_whose_readings_show_it(readings: Readings, found: str) -> None:
    timeline = session({"db": readings, "proxy": {}})
    assert blamed(timeline) == {(found, "db")}
    (mark,) = marks(timeline)
    assert mark.key == f"bottleneck:{found}:epoch0:db"


DISTURBED = {"target.cpu_ratio": 0.4, "target.run_delay_ratio": 2.9, "host.cpu_ratio": 4.0, "neighbours.cpu_ratio": 3.5}

CROWDED = {"target.listen_queue": 25.5, "target.cpu_ratio": 0.44, "target.busiest_thread_ratio": 0.02,
           "target.run_delay_ratio": 0.26, "host.cpu_ratio": 4.0, "neighbours.cpu_ratio": 3.5}  # fmt: skip
"""Measured: a Python service on two cores that other processes use."""

PROXY = {"server.writing": 28.0, "server.connections": 33.0}
"""nginx, which has most of the requests of 32 users open."""

POOL = {"server.connections": 40.0, "server.connections_limit": 40.0}
DISK = {"host.disk_busy_ratio": 0.97, "host.io_pressure_ratio": 0.4, "target.written_bytes_per_s": 5e6}
PYTHON = (part("web", program="python3.11"), part("db"))
FULL = {"server.connections_limit": 13.0}

Blamed = Sequence[tuple[str, str | None]]

CASES: list[tuple[str, Mapping[str, Readings], dict[str, Any], Blamed]] = [
    ("busy, while more users increase goodput", {"db": SATURATED}, {"grows": True}, []),
    ("a pool with open but idle connections", {"db": {**POOL, "server.active": 6.0}}, {}, [("lock_or_pool_limit", None)]),
    ("peers that are all at their limit", {"web1": SATURATED, "web2": SATURATED}, {},
     [("target_cpu_saturated", "web1"), ("target_cpu_saturated", "web2")]),
    ("two limits of one part", {"db": {**POOL, "server.lock_waits": 34.0, "server.active": 40.0}}, {},
     [("connection_limit", "db"), ("lock_waits", "db")]),
    ("a disk that two parts share", {"db": DISK, "queue": DISK}, {"known": (part("db", "db"), part("queue", "db"))},
     [("disk_saturated", "db")]),
    ("two thirds of its cores: neither limited nor idle", {"db": {"target.cpu_ratio": 2.7, "host.cpu_ratio": 2.8}}, {}, []),
    ("nearly all of the core that it is pinned to, on a full machine",
     {"db": {"target.cpu_ratio": 0.88, "target.cpus_allowed": 1.0, "target.run_delay_ratio": 14.0, "host.cpu_ratio": 4.0}},
     {}, []),
    ("a remote service that is watched as a part", {"web": SATURATED}, {"unread": UNWATCHED}, [("target_cpu_saturated", "web")]),
    ("the database works on the requests", {"web": {}, "db": {"server.active": 30.0}, "proxy": PROXY}, {}, []),
    ("two parts may hold the requests", {"web1": {}, "web2": {}, "db": {"server.active": 1.0}, "proxy": PROXY},
     {"unread": UNWATCHED}, [("unwatched_party", None)]),
    ("the database does not count its requests", {"web": {}, "db": {}, "proxy": PROXY}, {"unread": UNWATCHED},
     [("unwatched_party", None)]),
    ("the proxy has few of the requests", {"web": {}, "db": {"server.active": 1.0}, "proxy": {"server.writing": 1.0}},
     {"unread": UNWATCHED}, [("unwatched_party", None)]),
    ("few connections in an accept queue", {"proxy": {"target.listen_queue": 0.5}}, {"unread": UNWATCHED}, []),
    ("few connections, of 11 requests inside", {"proxy": {"target.listen_queue": 1.2}}, {"unread": UNWATCHED}, []),
    ("close to its descriptor limit whenever it was read, and no lack of workers",
     {"proxy": {"target.listen_queue": 25.0, "target.fds_fullest": 920.0}}, {"unread": UNWATCHED}, []),
    ("other processes on a machine of two parts", {"web": DISTURBED, "db": DISTURBED},
     {"known": (part("web", "one"), part("db", "one"))}, [("noisy_neighbours", "web")]),
    ("other processes, while more users increase goodput", {"web": DISTURBED}, {"grows": True}, []),
    ("other processes keep a service of many users from its core, and no lack of workers", {"web": CROWDED, "db": {}},
     {"known": PYTHON}, []),
    ("other processes keep a service of few users from its core",
     {"web": {**CROWDED, "target.cpu_ratio": 0.31, "target.run_delay_ratio": 0.17}, "db": {}}, {"known": PYTHON}, []),
    ("no free connection, while sessions come and go", {"web": {}, "proxy": PROXY, "db": {**FULL, "server.connections": 12.0,
     "server.connections_full_ratio": 0.5, "server.active": 10.5}}, {"unread": UNWATCHED}, [("connection_limit", "db")]),
    ("no free connection, while sessions log in", {"web": {}, "proxy": PROXY, "db": {**FULL, "server.connections": 13.0,
     "server.active": 6.0, "server.idle": 0.5}}, {"unread": UNWATCHED}, [("connection_limit", "db")]),
    ("no free connection for the reader", {"web": {}, "proxy": PROXY, "db": {**FULL, "server.refused_readings": 0.3}},
     {"unread": UNWATCHED}, [("connection_limit", "db")]),
    ("a reader that was refused once", {"db": {"server.refused_readings": 0.05}}, {}, [("lock_or_pool_limit", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "parts", "more", "expected"), CASES, ids=[each[0] for each in CASES])
def test_parts_are_blamed_for_what_their_own_readings_show(
    why: str, parts: Mapping[str, Readings], more: dict[str, Any], expected: Blamed
) -> None:
    assert blamed(session(parts, **more)) == set(expected)


def test_a_part_that_was_read_in_few_seconds_of_a_level_is_listed_as_unavailable_and_not_blamed() -> None:
    timeline = session({"db": {**SATURATED, "read_ratio": 0.5}})
    (mark,) = marks(timeline)
    assert (mark.id, mark.finding.part) == ("lock_or_pool_limit", None)  # type: ignore[union-attr]
    assert "part db" in mark.finding.unavailable  # type: ignore[union-attr]


def test_a_part_whose_link_is_cut_is_not_blamed_for_the_rest_of_the_level() -> None:
    timeline = session({"db": SATURATED}, known=(part("db", state="unread"),))
    level = list(measured_levels(epoch_of(timeline, 0)))[-1]
    assert watched_parts(level, timeline).names == ("db",), "a closed level was measured while it was read"
    level.level.closed = None
    now = watched_parts(level, timeline)
    assert (now.names, now.unread) == ((), ("db",))


def test_of_several_equal_parts_the_one_at_its_limit_is_named() -> None:
    (mark,) = marks(session({"web1": {}, "web2": SATURATED, "web3": {}, "db": {}}))
    assert isinstance(mark.finding, Bottleneck)
    assert (mark.finding.part, mark.finding.readings["peers_at_ease"]) == ("web2", "web1, web3")


NO_SPACE = FailureSignature(types=("CatchResponseError",), text="could not extend file: No space left on device")


@pytest.mark.parametrize("machine", ["db", "generator"])
@pytest.mark.parametrize(
    ("db", "expected"), [({"target.disk_free_bytes": 0.0}, {("disk_full", "db")}), ({}, {("disk_full", None)})]
)
def test_a_reply_that_names_a_full_disk_blames_the_part_whose_disk_is_full_and_no_other(
    db: Readings, expected: set[tuple[str, str | None]], machine: str
) -> None:
    timeline = session({"db": db, "proxy": {}}, unread=UNWATCHED, known=(part("db", machine), part("proxy")))
    failure = FailureTick(name="/a", method="POST", signature=NO_SPACE, count=3)
    known = {"duration_s": 1.0, "users": 16, "wanted": 16, "phase": "settled", "settled": True}
    timeline.apply(Sample(t_s=70.0, level=2, failures=(failure,), **known))  # type: ignore[arg-type]
    assert {each for each in blamed(timeline) if each[0] == "disk_full"} == expected


def test_a_lock_in_the_service_lists_the_idle_parts_with_an_unwatched_party_as_the_alternative() -> None:
    (mark,) = marks(session({"db": {}, "proxy": {}}))
    assert mark.id == "lock_or_pool_limit"
    assert mark.finding.figures()["idle_parts"] == "db, proxy"
    assert mark.finding.competing == ("unwatched_party",)  # type: ignore[union-attr]


QUERIES = {"server.connections": 12.0, "server.connections_limit": 60.0}


@pytest.mark.parametrize(
    ("parts", "named", "words"),
    [
        ({"db": {}}, "db", "requests wait for a lock or a pool in db, or outside of what is watched"),
        ({"web": {}, "db": {**QUERIES, "server.active": 0.4}, "proxy": {}}, "web, proxy",
         "requests wait for a lock or a pool in web or proxy, or outside of what is watched"),
        ({"web": {}, "db": {**QUERIES, "server.active": 20.0}}, "web, db",
         "requests wait for a lock or a pool in web or db, or outside of what is watched"),
        ({"db": {**QUERIES, "server.active": 0.4}}, None, "requests wait outside of what is watched"),
    ],
)  # fmt: skip
def test_if_no_part_is_busy_requests_wait_in_a_part_whose_sessions_are_unknown_or_in_an_unwatched_party(
    parts: Mapping[str, Readings], named: str | None, words: str
) -> None:
    (mark,) = marks(session(parts, unread=UNWATCHED))
    assert mark.id == "unwatched_party"
    assert mark.finding.figures()["idle_parts"] == ", ".join(parts)
    assert mark.finding.figures().get("may_wait_in") == named


@pytest.mark.parametrize("unread", [UNWATCHED, ()], ids=["remote target", "target here"])
def test_a_lock_is_that_of_the_part_between_a_waiting_proxy_and_an_idle_database(unread: tuple[str, ...]) -> None:
    timeline = session({"web": {}, "db": {"server.active": 1.0}, "proxy": PROXY}, unread=unread)
    assert blamed(timeline) == {("lock_or_pool_limit", "web")}
    (mark,) = marks(timeline)
    assert mark.finding.competing == ("unwatched_party",)  # type: ignore[union-attr]


def test_no_party_is_blamed_if_few_requests_are_in_the_service() -> None:
    idle = {f"part.proxy.{key}": value for key, value in IDLE.items()}
    rates = ((2, 20, 50, 0.05), (4, 40, 50, 0.05), (16, 42, 70, 0.31), (32, 42, 80, 0.68))
    timeline = closed_session(*(Load(*each, unread=UNWATCHED, readings=idle) for each in rates))
    timeline.apply(part("proxy"))
    assert blamed(timeline) == set(), "3.4 requests are in the service"


def test_other_processes_are_marked_if_they_use_the_cpu_that_a_part_needs() -> None:
    (mark,) = marks(session({"web": DISTURBED}))
    assert isinstance(mark.finding, Bottleneck)
    assert mark.finding.part == "web"
    assert mark.finding.readings["others_cpu_ratio"] == 3.5
    assert "processes" not in mark.finding.readings, "the names of processes are only known on the generator's machine"


def test_cpu_used_by_another_part_of_the_machine_is_not_that_of_other_processes() -> None:
    db = {"target.cpu_ratio": 3.4, "host.cpu_ratio": 4.0, "neighbours.cpu_ratio": 0.5}
    timeline = session({"web": DISTURBED, "db": db}, known=(part("web", "one"), part("db", "one")))
    assert ("host_cpu_saturated", "web") in blamed(timeline)


def test_a_lock_with_replies_at_constant_intervals_is_that_of_the_part_whose_open_connections_grow() -> None:
    """A lock that is held for 15 ms gives replies at constant intervals, as a rate limit does."""
    inside = {"target.fds": 40.0}
    timeline = session({"web": inside, "db": {"server.active": 1.0}, "proxy": PROXY})
    quiet, *_, level = measured_levels(epoch_of(timeline, 0))
    parts, found = watched_parts(level, timeline), Found("lock_or_pool_limit", {}, (), ("rate_limit",))

    def first_level_with(fds: float) -> MeasuredLevel:
        readings = {**quiet.figures.readings, "part.web.target.fds": fds}
        return replace(quiet, figures=msgspec.structs.replace(quiet.figures, readings=readings))

    blamed_part = located(found, level, [first_level_with(10.0), level], parts)
    assert blamed_part is not None
    assert (blamed_part.part, blamed_part.competing) == ("web", ("rate_limit", "unwatched_party"))
    assert located(found, level, [first_level_with(40.0), level], parts) == found, (
        "as many connections are open at low load: the requests are delayed in the proxy"
    )
