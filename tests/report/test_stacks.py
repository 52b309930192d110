"""Sampled stacks in reports: raw for speedscope and pprof, as tables, and as the trees of flame graphs."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

from kit.scenario import Scenario
from kit.stacks import POOL_AND_QUERY, Sampled, session, stacks

from capexplorer.report.formats import FORMATS, html, markdown
from capexplorer.report.formats.pprof import profile
from capexplorer.report.stacks import entries, flames, sections
from capexplorer.wording.stacks import SMALLEST

from .exported_sessions import HOSTILE

HANDLE, CHECKOUT = ("handle", "/srv/shop/app.py", 9), ("checkout", "/srv/shop/db.py", 41)
ACQUIRE = ("acquire", "/usr/lib/pool.py", 7)


# -- raw stacks


def test_speedscope_has_a_profile_of_each_level_and_clock_with_the_outermost_call_first() -> None:
    document = json.loads(FORMATS["speedscope"].to_text(session(*POOL_AND_QUERY).events))
    assert [each["name"] for each in document["profiles"]] == [
        "level 0, 2 users: python, wall", "level 0, 2 users: python, cpu",
        "level 1, 20 users: python, wall", "level 1, 20 users: python, cpu",
    ]  # fmt: skip
    frames, wall = document["shared"]["frames"], document["profiles"][2]
    named = [[(frames[at]["name"], frames[at]["file"], frames[at]["line"]) for at in sample] for sample in wall["samples"]]
    assert dict(zip(map(tuple, named), wall["weights"], strict=True))[HANDLE, CHECKOUT, ACQUIRE] == 160.0
    assert (wall["unit"], wall["startValue"], wall["endValue"]) == ("seconds", 0, 200.0)


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of Protocol Buffers: numbers, and bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            length = varint()
            yield key >> 3, message[at : at + length]
            at += length


def varints(packed: bytes) -> list[int]:
    return [value for _, value in fields(b"".join(b"\x08" + each for each in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", packed)))]


def test_pprof_has_each_stack_with_the_innermost_call_first_and_its_nanoseconds() -> None:
    found = list(fields(profile(POOL_AND_QUERY[1].sampled[0])))
    texts = [value.decode() for number, value in found if number == 6]
    functions = {
        each[1]: (texts[each[2]], texts[each[4]]) for each in (dict(fields(value)) for number, value in found if number == 5)
    }
    places = {}
    for location in (dict(fields(value)) for number, value in found if number == 4):
        line = dict(fields(location[4]))
        places[location[1]] = (*functions[line[1]], line[2])
    samples = [dict(fields(value)) for number, value in found if number == 2]
    seconds = {tuple(places[each] for each in varints(sample[1])): varints(sample[2])[0] / 1e9 for sample in samples}
    assert seconds[ACQUIRE, CHECKOUT, HANDLE] == 160.0
    assert texts[0] == ""
    kind = dict(fields(next(value for number, value in found if number == 1)))
    assert (texts[kind[1]], texts[kind[2]]) == ("time", "nanoseconds")


def test_pprof_has_a_file_of_each_level_and_clock_the_same_at_each_export() -> None:
    files, again = (FORMATS["pprof"].of_log(session(*POOL_AND_QUERY).events, "x") for _ in range(2))
    assert sorted(files) == [
        "level-00-users-2-python-cpu.pb.gz", "level-00-users-2-python-wall.pb.gz",
        "level-01-users-20-python-cpu.pb.gz", "level-01-users-20-python-wall.pb.gz",
    ]  # fmt: skip
    assert files == again
    assert gzip.decompress(files["level-01-users-20-python-wall.pb.gz"]) == profile(POOL_AND_QUERY[1].sampled[0])


# -- tables and flame graphs


def test_each_clock_has_a_table_of_the_functions_that_grew_most() -> None:
    (section,) = sections(session(*POOL_AND_QUERY).timeline)
    wall, cpu = (table for _, table in section.tables)
    assert [row[0] for row in wall.rows] == ["checkout (db.py:41, in acquire)", "query (db.py:60, in recv)", "get (queue.py:5)"]
    assert [row[0] for row in cpu.rows] == ["query (db.py:60, in recv)", "checkout (db.py:41, in acquire)"]
    (alone,) = sections(session(POOL_AND_QUERY[1]).timeline)
    assert [table.titles for _, table in alone.tables] == [("function", "time", "threads")] * 2


def test_what_sampling_cost_is_said_where_a_level_beside_it_has_the_same_load() -> None:
    beside = Scenario().ready().level(2, seconds=10, rps=50, p99_ms=40.0)
    made = session(*POOL_AND_QUERY, scenario=beside, stacks=True)
    (section,) = sections(made.timeline)
    costs = [each for each in section.sentences if "while stacks were sampled" in each]
    assert len(costs) == 1
    assert costs[0].startswith("At 2 users ")
    assert "-20" in costs[0]
    (entry,) = entries(made.timeline)
    assert (entry["low"]["cost"]["change_ratio"], entry["high"]["cost"]) == (-0.2, None)


def test_a_flame_graph_has_the_time_of_a_request_at_both_loads() -> None:
    wall = flames(session(*POOL_AND_QUERY).timeline)[0]
    names = [name for name, _ in wall["names"]]
    handled = {names[node[0]]: node for node in wall["nodes"]}
    assert handled["handle (app.py:9)"][1:3] == [1.25, 200.0]
    assert handled["handle (app.py:12)"][1:3] == [47.5, 50.0]
    (checkout,) = handled["handle (app.py:9)"][3]
    (acquire,) = checkout[3]
    assert (names[checkout[0]], names[acquire[0]], acquire[3]) == ("checkout (db.py:41)", "acquire (pool.py:7)", [])
    assert dict(wall["names"])["checkout (db.py:41)"] is True
    assert dict(wall["names"])["acquire (pool.py:7)"] is False


def test_a_flame_graph_leaves_out_what_nobody_would_see() -> None:
    high = Sampled(20, 80, 250.0, (stacks({"main* a.py:1; big* a.py:2": 10.0, "main* a.py:1; small* a.py:3": 9.0 * SMALLEST}),))
    (wall,) = flames(session(high).timeline)
    assert [name for name, _ in wall["names"]] == ["big (a.py:2)", "main (a.py:1)"]


def test_hostile_names_of_functions_are_inert() -> None:
    made = session(*(each._replace(sampled=(stacks({HOSTILE.replace(":", ""): 3.0}),)) for each in POOL_AND_QUERY)).timeline
    page, text = html.render(made).decode(), markdown.render(made).decode()
    assert not {"\x1b", "\u202e"} & set(page + text)
    assert (page.count("<script"), "<img" in page) == (3, False)
    data = re.search(r'id="flame-data">(.*?)</script>', page)
    assert data is not None and not set("<>&\u2028") & set(data[1])
    outside = re.sub(r"(`+).*?\1", "", text).replace("\\]", "")
    assert [markup for markup in ("<script", "<img", "@everyone", "](http") if markup in outside] == []


def test_a_page_without_stacks_has_no_script_for_them() -> None:
    assert "flame" not in html.render(session().timeline).decode()
