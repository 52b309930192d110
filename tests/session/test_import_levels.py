"""Import of Locust histories and tables: user counts become levels, counters become samples, and no figure is invented."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.model.events import Ended, Event, Header, LevelClosed, LevelOpened, Log, Sample
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.session.importers import imported
from capexplorer.session.importers.history_session import Stretch, stretches

DATA = Path(__file__).resolve().parent.parent / "data"
SOY_A = sorted((DATA / "histories").glob("soy-a-*.csv"))

COLUMNS = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,"
COLUMNS += "Total Average Response Time,Total Average Content Size"
Row = tuple[int, int, str, str, int, int, float, float]


def take(*paths: Path) -> list[Event]:
    return imported(paths, None, settling_s)


def history(folder: Path, rows: Sequence[Row], name: str = "a_stats_history.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([COLUMNS, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def total(t: int, users: int, requests: int, failures: int = 0, mean_ms: float = 20.0) -> Row:
    return (1_700_000_000 + t, users, "", "Aggregated", requests, failures, mean_ms, 100.0)


def closed(events: Sequence[Event]) -> list[LevelClosed]:
    return [event for event in events if isinstance(event, LevelClosed)]


def opened(events: Sequence[Event]) -> list[LevelOpened]:
    return [event for event in events if isinstance(event, LevelOpened)]


# -- the reference data --------------------------------------------------------------------------------------------------------


def test_ten_holds_of_one_service_are_one_session_of_ten_levels_within_1_percent_of_its_table() -> None:
    with (DATA / "tables" / "soy-a.csv").open(newline="") as file:
        table = {int(row["users"]): row for row in csv.DictReader(file)}
    events = take(*SOY_A)
    levels = closed(events)
    assert [level.users for level in levels] == sorted(table) and len(levels) == 10
    for level in levels:
        row, figures = table[level.users], level.figures
        assert figures.throughput_rps == pytest.approx(float(row["throughput_rps"]), rel=0.01)
        assert figures.goodput_rps == figures.throughput_rps and figures.failure_ratio == 0
        assert figures.latency_ms.mean == pytest.approx(float(row["latency_ms"]), rel=0.02)
        assert figures.goodput_se_rps is not None and figures.goodput_se_rps < 0.02 * float(row["throughput_rps"])
    header = events[0]
    assert isinstance(header, Header) and header.target.name == "soy-a"


def test_failures_that_push_the_rate_up_do_not_count_as_work() -> None:
    ramp, hold = closed(take(DATA / "histories" / "fast-failures_stats_history.csv"))
    goodput = {each.users: each.figures.goodput_rps or 0.0 for each in ramp.bins}
    throughput = {each.users: each.figures.throughput_rps or 0.0 for each in ramp.bins}
    assert max(goodput, key=lambda users: goodput[users]) in range(220, 300)
    assert max(goodput[users] for users in goodput if 340 <= users <= 480) < 0.6 * max(goodput.values())
    assert throughput[450] > max(throughput[users] for users in throughput if users < 300)
    assert hold.users == 500 and hold.figures.throughput_rps == pytest.approx(140, rel=0.02)
    assert hold.figures.goodput_rps == pytest.approx(40, rel=0.02)


def test_a_slow_ramp_is_binned_and_the_count_after_it_is_a_level() -> None:
    ramp, hold = closed(take(DATA / "histories" / "latency-first_stats_history.csv"))
    assert ramp.figures.throughput_rps is None and len(ramp.bins) == 24
    assert all(before.users < after.users for before, after in pairwise(ramp.bins))
    assert (hold.users, hold.figures.settled) == (200, True)
    early = [each.figures.latency_ms.mean or 0.0 for each in ramp.bins if each.users < 60]
    assert (hold.figures.latency_ms.mean or 0.0) > 2 * sum(early) / len(early)


@pytest.mark.parametrize("path", sorted((DATA / "histories").glob("*.csv")), ids=lambda path: path.stem)
def test_the_requests_of_a_file_are_all_in_its_session(path: Path) -> None:
    with path.open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    events = take(path)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.requests, ended.failures) == (int(last["Total Request Count"]), int(last["Total Failure Count"]))
    timeline = Timeline(events)
    seconds = zip(timeline.columns["throughput_rps"], timeline.columns["duration_s"], strict=True)
    assert sum(rate * duration for rate, duration in seconds) == pytest.approx(ended.requests)


# -- levels from user counts ---------------------------------------------------------------------------------------------------


def steps(*parts: tuple[int, int]) -> list[int]:
    """(count, seconds) one after another."""
    return [count for count, seconds in parts for _ in range(seconds)]


@pytest.mark.parametrize(
    ("why", "users", "ladder", "expected"),
    [
        ("a count that is held", steps((0, 1), (5, 20)), True, [("move", 1, 1, 5), ("hold", 2, 20, 5)]),
        ("a file that begins with users", steps((5, 20)), True, [("hold", 1, 19, 5)]),
        ("steps", steps((0, 1), (5, 20), (9, 20)), True,
         [("move", 1, 1, 5), ("hold", 2, 20, 5), ("move", 21, 21, 9), ("hold", 22, 40, 9)]),
        ("a short climb leads to the next count", [*steps((2, 20)), 4, 6, 8, *steps((9, 20))], True,
         [("hold", 1, 19, 2), ("move", 20, 23, 9), ("hold", 24, 42, 9)]),
        ("counts too short to be held, and a climb too short for a ramp", [0, 1, 2, 2, 2], False, [("move", 1, 4, 2)]),
        ("a climb of 12 s, with few other levels: a ramp", [*range(13), *steps((12, 20))], False,
         [("ramp", 1, 12, 12), ("hold", 13, 32, 12)]),
        ("a climb of 12 s, among many levels: spawning", [*range(13), *steps((12, 20))], True,
         [("move", 1, 12, 12), ("hold", 13, 32, 12)]),
        ("a climb of 40 s is a ramp anywhere", [*range(41), *steps((40, 20))], True, [("ramp", 1, 40, 40), ("hold", 41, 60, 40)]),
        ("a way down is no ramp", [*steps((40, 20)), *range(39, 0, -1)], False, [("hold", 1, 19, 40), ("move", 20, 58, 1)]),
        ("waves are a ramp", [10, 12, 14, 12, 10, 8] * 4, False, [("ramp", 1, 23, 14)]),
        ("a user that died and was replaced", [*steps((50, 10)), 49, *steps((50, 10))], True, [("hold", 1, 20, 50)]),
        ("a dip by more than a level may lack", [*steps((10, 10)), 9, *steps((10, 10))], True,
         [("hold", 1, 9, 10), ("move", 10, 11, 10), ("hold", 12, 20, 10)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_user_counts_are_cut_into_stretches(
    why: str, users: list[int], ladder: bool, expected: list[tuple[str, int, int, int]]
) -> None:
    found = stretches([float(t) for t in range(len(users))], users, ladder=ladder)
    assert [(each.kind, each.first, each.last, each.users) for each in found] == expected


@pytest.mark.parametrize("users", [[3], [0, 0], [1, 2], [0, 5, 5, 4, 4, 4, 9], steps((0, 30), (3, 9), (2, 1), (3, 30), (0, 9))])
def test_every_tick_is_in_one_stretch(users: list[int]) -> None:
    found: list[Stretch] = stretches([float(t) for t in range(len(users))], users, ladder=False)
    assert [tick for each in found for tick in range(each.first, each.last + 1)] == list(range(1, len(users)))


def ladder(*parts: tuple[int, int, float]) -> list[Row]:
    """Rows of (users, seconds, requests a second of each user)."""
    rows, t, requests = [total(0, 0, 0)], 0, 0.0
    for users, seconds, each in parts:
        for _ in range(seconds):
            t, requests = t + 1, requests + users * each
            rows.append(total(t, users, round(requests)))
    return rows


def test_each_held_user_count_of_a_file_is_a_level(tmp_path: Path) -> None:
    events = take(history(tmp_path, ladder((10, 30, 2.0), (20, 30, 2.0), (40, 30, 1.5), (20, 30, 2.0))))
    levels = closed(events)
    assert [(level.users, level.figures.throughput_rps) for level in levels] == [(10, 20.0), (20, 40.0), (40, 60.0), (20, 40.0)]
    assert [level.index for level in levels] == [0, 1, 2, 3]
    assert [event.spawn_rate for event in opened(events)] == [10.0, 10.0, 20.0, 20.0]
    assert all(after.t_s == before.t_s for before, after in zip(levels, opened(events)[1:], strict=False))


def test_the_first_quarter_of_a_held_count_is_set_aside_at_most_10_s(tmp_path: Path) -> None:
    """The first requests of new users cannot be separated from the rest."""
    levels = closed(take(history(tmp_path, ladder((10, 21, 2.0), (20, 121, 2.0), (30, 9, 2.0)))))
    assert [(level.settled_s or 0.0) - level.started_s for level in levels] == [1 + 5, 1 + 10, 1 + 2]


def test_settling_takes_two_mean_cycles_where_they_are_longer(tmp_path: Path) -> None:
    [level] = closed(take(history(tmp_path, ladder((100, 61, 0.125)))))
    assert (level.settled_s or 0.0) - level.started_s == pytest.approx(1 + 16, abs=1)


def test_a_count_that_was_not_held_gives_no_figures(tmp_path: Path) -> None:
    [level] = closed(take(history(tmp_path, ladder((10, 6, 2.0)))))
    assert not level.figures.settled
    assert level.figures.throughput_rps is None
    assert level.settled_s is None


def test_rows_before_the_first_user_are_left_out(tmp_path: Path) -> None:
    waiting = [total(t, 0, 0) for t in range(-50, 0)]
    events = take(history(tmp_path, [*waiting, *ladder((10, 30, 2.0))]))
    assert [event.t_s for event in opened(events)] == [0.0]
    assert len(closed(events)) == 1


def test_counters_that_begin_again_cost_one_tick_and_are_reported(tmp_path: Path) -> None:
    rows = ladder((10, 60, 2.0))
    reset = [*rows[:30], *((*row[:4], row[4] - 580, *row[5:]) for row in rows[30:])]
    events = take(history(tmp_path, reset))
    [level] = closed(events)
    assert level.figures.throughput_rps == 20.0
    assert [event.text for event in events if isinstance(event, Log) and event.level == "warning"] == [
        "a_stats_history.csv: line 32: the counters were reset: no rate for this second"
    ]
    assert len([event for event in events if isinstance(event, Sample)]) == 59


# -- endpoints, latency, failures ----------------------------------------------------------------------------------------------


def two_endpoints(seconds: int = 41, aggregated: int = 3) -> list[Row]:
    """/a: 20 requests a second of 10 ms, 100 bytes; /b: 10 of 40 ms, of which one fails, 300 bytes, from second 3 on."""
    rows: list[Row] = [total(0, 0, 0)]
    for t in range(1, seconds):
        a, b = 20 * t, 10 * max(0, t - 2)
        at = 1_700_000_000 + t
        rows.append((at, 10, "GET", "/a", a, 0, 10.0, 100.0))
        if b:
            rows.append((at, 10, "POST", "/b", b, b // 10, 40.0, 300.0))
        rows.append((at, 10, "", "Aggregated", (a + b) * aggregated // 3, b // 10, (10 * a + 40 * b) / (a + b), 100.0))
    return rows


def test_a_full_history_has_its_endpoints(tmp_path: Path) -> None:
    [level] = closed(take(history(tmp_path, two_endpoints())))
    seconds = level.figures.settled_seconds
    assert [(each.name, each.method, each.requests, each.failures, each.mean_bytes) for each in level.endpoints] == [
        ("/a", "GET", 20 * seconds, 0, 100.0),
        ("/b", "POST", 10 * seconds, seconds, 300.0),
    ]
    assert [each.latency_ms.mean for each in level.endpoints] == [pytest.approx(10.0), None]
    assert (level.figures.throughput_rps, level.figures.goodput_rps) == (30.0, 29.0)


def test_no_latency_of_successes_is_reported_if_the_mean_includes_failures(tmp_path: Path) -> None:
    [level] = closed(take(history(tmp_path, two_endpoints())))
    assert level.figures.latency_ms.mean is None and level.figures.latency_se_ms is None
    assert level.figures.response_ms == pytest.approx(20.0)


def test_endpoints_that_do_not_add_up_are_replaced_by_their_aggregate(tmp_path: Path) -> None:
    events = take(history(tmp_path, two_endpoints(aggregated=6)))
    [level] = closed(events)
    assert [each.name for each in level.endpoints] == ["Aggregated"]
    assert level.figures.throughput_rps == 60.0
    assert "do not add up" in " ".join(event.text for event in events if isinstance(event, Log))


def test_a_full_history_that_is_cut_off_between_its_endpoints_loses_that_moment(tmp_path: Path) -> None:
    events = take(history(tmp_path, two_endpoints()[:-1]))
    assert not [event for event in events if isinstance(event, Log) and event.level == "warning"]
    assert closed(events)[0].t_s == 39.0


def test_figures_that_a_history_lacks_are_null(tmp_path: Path) -> None:
    events = take(history(tmp_path, ladder((10, 41, 2.0))))
    document = summarise(Timeline(events))
    [level] = document["levels"]
    latency = {name: value for name, value in level["latency_ms"].items() if value is not None}
    assert latency == {"mean": 20.0}
    for name in ("target_cpu_ratio", "host_cpu_ratio", "generator_cpu_ratio", "loop_lag_p99_ms", "ports_used", "open_sockets"):
        assert level[name] is None
    assert document["session"]["engine"] == {"mode": None, "workers": None}
    assert document["session"]["profile"] is None and document["session"]["client_floor_ms"] == {}
    timeline = Timeline(events)
    assert all(map(math.isnan, timeline.columns["p95_ms"])) and all(map(math.isnan, timeline.columns["target_cpu_ratio"]))


def test_without_a_column_of_response_times_there_is_no_latency(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["Timestamp,User Count,Name,Total Request Count,Total Failure Count"]
    rows += [f"{1_700_000_000 + t},10,Aggregated,{20 * t},0" for t in range(40)]
    path.write_text("\n".join(rows), encoding="utf-8")
    [level] = closed(take(path))
    assert level.figures.throughput_rps == 20.0
    assert level.figures.latency_ms.mean is None
    assert level.figures.response_ms is None
    assert level.figures.latency_se_ms is None


# -- sessions ------------------------------------------------------------------------------------------------------------------


def test_several_files_follow_each_other_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    rows = ladder((10, 30, 2.0))
    later = [(t + 5000, *rest) for t, *rest in ladder((20, 30, 2.0))]
    first = history(tmp_path, rows, "shop-10_stats_history.csv")
    second = history(tmp_path, later, "shop-20_stats_history.csv")  # type: ignore[arg-type]
    events = take(second, first)
    assert [(level.users, level.started_s, level.t_s) for level in closed(events)] == [(10, 0.0, 30.0), (20, 30.0, 60.0)]
    header = events[0]
    assert isinstance(header, Header)
    assert (header.target.name, header.started_at) == ("shop", "2023-11-14T22:13:20+00:00")
    assert header.source is not None and "shop-10_stats_history.csv, shop-20_stats_history.csv" in header.source


def test_times_never_go_back_and_the_last_event_is_the_end() -> None:
    events = take(*SOY_A)
    assert all(before.t_s <= after.t_s for before, after in pairwise(events))
    assert isinstance(events[-1], Ended) and not any(isinstance(event, Ended) for event in events[:-1])


def test_the_same_files_in_any_order_are_the_same_session() -> None:
    assert take(*SOY_A) == take(*reversed(SOY_A))


# -- tables --------------------------------------------------------------------------------------------------------------------


def table(folder: Path, text: str) -> Path:
    path = folder / "shop.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "goodput_rps", "failure_ratio", "latency_ms"),
    [
        ("users,throughput_rps\n8,100\n", 100.0, None, None),
        ("throughput_rps,users\n100,8\n", 100.0, None, None),
        ("users,throughput_rps,failure_ratio\n8,100,0.25\n", 75.0, 0.25, None),
        ("users,throughput_rps,failure_ratio\n8,100,\n", None, None, None),
        ("users,throughput_rps,latency_ms,failure_ratio\n8,100,12.5,0\n", 100.0, 0.0, 12.5),
        ("users,throughput_rps,latency_ms\n8,100,N/A\n", 100.0, None, None),
        (" users , throughput_rps \r\n 8 , 100 \r\n", 100.0, None, None),
    ],
)
def test_a_row_of_a_table_is_a_level(
    tmp_path: Path, text: str, goodput_rps: float | None, failure_ratio: float | None, latency_ms: float | None
) -> None:
    [level] = closed(take(table(tmp_path, text)))
    figures = level.figures
    assert (level.users, figures.throughput_rps, figures.users_mean, figures.settled) == (8, 100.0, 8.0, True)
    assert (figures.goodput_rps, figures.failure_ratio, figures.latency_ms.mean) == (goodput_rps, failure_ratio, latency_ms)
    assert figures.goodput_se_rps is None and figures.latency_se_ms is None


@pytest.mark.parametrize("path", sorted((DATA / "tables").glob("*.csv")), ids=lambda path: path.stem)
def test_a_table_is_a_session_with_its_levels_in_order(path: Path) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    levels = closed(take(path))
    assert [(level.users, level.figures.throughput_rps) for level in levels] == [
        (int(row["users"]), float(row["throughput_rps"])) for row in rows
    ]


def test_a_table_shows_no_times_and_no_counts(tmp_path: Path) -> None:
    document = summarise(Timeline(take(table(tmp_path, "users,throughput_rps\n8,100\n9,110\n"))))
    assert document["session"]["started_at"] is None and document["session"]["duration_s"] is None
    for level in document["levels"]:
        for name in ("requests", "failures", "failures_while_unsettled", "started_s", "settled_s", "ended_s"):
            assert level[name] is None
    assert document["endpoints"] == []
