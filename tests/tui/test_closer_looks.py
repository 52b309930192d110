"""The screens of endpoints and of kept requests: content, order, filters; the text of requests cannot control the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from textual.geometry import Size

from capexplorer.model.events import Event, FailureSignature, FailureTick, Sample
from capexplorer.model.kept_request import Body, Headers, KeptRequest, NoRequests, Phases, RequestBrief
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.endpoint_charts import EndpointCurve, EndpointLatency, EndpointThroughput, level_points
from capexplorer.tui.panes.endpoints import SORTS, EndpointTable, in_order, rows_shown
from capexplorer.tui.panes.kept_requests import RequestPane, formatted, phase_lines, request_lines
from capexplorer.tui.screens.explorer import ExplorerScreen
from capexplorer.wording.quantities import latency_cell, rate_cell

from .session_events import HOSTILE_TEXT, session
from .stage import WIDE, Stage, did, hides, on, shows, tell
from .troubles import cause
from .waiting import until

WHOLE = Size(78, 60)


def request(
    number: int, name: str = "/cpu", status: int | None = 200, error: str = "", body: str = "", at_s: float | None = None
) -> KeptRequest:
    t_s = float(number) if at_s is None else at_s
    brief = RequestBrief(
        number=number, why="first" if error else "even", t_s=t_s, level=1, method="GET", name=name, status=status,
        response_ms=12.5, error=error, kind=error,
    )  # fmt: skip
    return KeptRequest(brief=brief, url=f"http://h{name}", received=Body(text=body, size_bytes=len(body)))


def at_level(kept: KeptRequest, index: int) -> KeptRequest:
    return replace(kept, brief=replace(kept.brief, level=index))


class Requests:
    """A few kept requests."""

    why_none = ""

    def __init__(self, *requests: KeptRequest) -> None:
        self._requests = {each.brief.number: each for each in requests}

    def briefs(self) -> Sequence[RequestBrief]:
        return [each.brief for each in self._requests.values()]

    def request(self, number: int) -> KeptRequest | None:
        return self._requests.get(number)


# -- one request


def text_of(request: KeptRequest) -> str:
    return "\n".join(strip.text.rstrip() for strip in RequestPane(request).draw(Timeline(), -1, DisplayOptions(), WHOLE))


def test_the_text_of_a_request_cannot_control_the_terminal() -> None:
    shown = text_of(request(1, name=HOSTILE_TEXT, error=HOSTILE_TEXT, body=f"{HOSTILE_TEXT}\r\n{HOSTILE_TEXT}"))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "\r" not in shown
    assert "[bold]not bold[/bold]" in shown


@pytest.mark.parametrize("size", [Size(1, 1), Size(12, 3), Size(40, 8)])
def test_a_request_fits_any_size(size: Size) -> None:
    strips = RequestPane(request(1, body="long " * 500)).draw(Timeline(), -1, DisplayOptions(), size)
    assert len(strips) <= size.height


def test_a_phase_that_the_client_does_not_measure_is_shown_as_not_known() -> None:
    lines = list(phase_lines(Phases(kept_connection=True), 12.5))
    assert [line.split(maxsplit=1)[-1] for line in lines[:1]] == ["kept connection"]
    assert sum("not known" in line for line in lines) == 2


def test_the_phases_of_a_stream_have_its_first_event_and_its_tokens() -> None:
    phases = Phases(connect_ms=1.0, first_byte_ms=20.0, first_event_ms=200.0, body_ms=400.0, tokens=21, per_token_ms=19.5)
    _, _, first, rest, _ = phase_lines(phases, 621.0)
    assert first.split()[-2:] == ["200", "ms"]
    assert rest.split() == ["rest", "of", "the", "reply", "400", "ms,", "21", "tokens", "or", "events,", "19.5", "ms", "each"]


def test_only_json_is_formatted() -> None:
    assert formatted('{"a":[1]}') == '{\n  "a": [\n    1\n  ]\n}'
    assert formatted("{ no json") == "{ no json"


# -- endpoints


def test_rows_are_sorted_by_each_column_and_filtered_by_a_text() -> None:
    _, rows = rows_shown(Timeline(session()))
    assert [row.name for row in in_order(rows[1:], "name")] == ["GET /cpu", "GET /health", "GET /io"]
    for sort, value in SORTS.items():
        found = [value(row) for row in in_order(rows[1:], sort)]
        assert found == sorted(found, reverse=sort != "name")
        assert found[::-1] == [value(row) for row in in_order(rows[1:], sort, reverse=True)]
    assert [row.name for row in in_order(rows[1:], "p95", "IO")] == ["GET /io"]


def test_the_chosen_endpoint_stays_chosen_where_the_order_changes() -> None:
    table, timeline = EndpointTable(), Timeline(session())
    table.sort = "name"
    table.draw(timeline, 0, DisplayOptions(), Size(78, 20))
    table.chosen = 2
    table.draw(timeline, 0, DisplayOptions(), Size(78, 20))
    assert table.row is not None
    chosen = table.row.name
    table.sort = "p95"
    table.draw(timeline, 0, DisplayOptions(), Size(78, 20))
    assert table.row is not None and table.row.name == chosen


@pytest.mark.parametrize("tick", [5, 20, 30])
def test_charts_of_an_endpoint_show_the_values_at_the_inspection_cursor(tick: int) -> None:
    timeline = Timeline(session([(10, 12), (80, 12), (30, 12)]))
    endpoint = ("GET", "/cpu")

    def text(pane: EndpointThroughput | EndpointLatency | EndpointCurve) -> str:
        return "\n".join(
            strip.text for strip in pane.draw(timeline, len(timeline) - 1, DisplayOptions(inspected=tick), Size(76, 10))
        )

    columns, level = timeline.endpoint_columns.of(endpoint), timeline.level_at(tick)
    assert columns is not None and level is not None
    point = next(each for each in level_points(timeline, endpoint) if each.load == level.users)
    over_time = text(EndpointThroughput(endpoint)), text(EndpointLatency(endpoint))
    assert all("║" in each for each in (*over_time, text(EndpointCurve(endpoint))))
    assert f"throughput  {rate_cell(columns['throughput_rps'][tick]):>4}" in over_time[0]
    assert latency_cell(columns["mean_ms"][tick]) in over_time[1] and latency_cell(point.p95_ms) in over_time[1]
    curve = text(EndpointCurve(endpoint))
    assert f"at {level.users} users" in curve and rate_cell(point.goodput_rps) in curve


def test_the_curve_has_a_point_for_each_settled_level() -> None:
    timeline = Timeline(session())
    points = level_points(timeline, ("GET", "/cpu"))
    assert [point.load for point in points] == [level.users for level in timeline.levels if level.figures.settled]
    assert all(point.goodput_rps <= point.throughput_rps for point in points)


def test_the_seconds_of_an_endpoint_are_aligned_with_those_of_the_timeline() -> None:
    timeline = Timeline(session())
    of_all = [timeline.endpoint_columns.of(("GET", name)) for name in ("/cpu", "/health", "/io")]
    assert all(columns is not None and len(columns["throughput_rps"]) == len(timeline) for columns in of_all)
    total = sum(columns["throughput_rps"][-1] for columns in of_all if columns is not None)
    assert total == pytest.approx(timeline.columns["throughput_rps"][-1], rel=1e-4)


# -- on the screen


def with_requests(*requests: KeptRequest, why_none: str = "", events: Sequence[Event] = ()) -> Stage:
    """An app whose session has kept requests."""
    return Stage(events or session(), requests=NoRequests(why_none) if why_none else Requests(*requests))


BUSY = request(3, status=503, error="503: busy", body='{"error": "pool exhausted"}')
ALL_FAILED = shows("Requests that failed  2 of 3 kept")


async def test_from_the_endpoints_to_one_of_them_and_its_requests_and_back() -> None:
    await tell(
        with_requests(request(1), request(2, "/io"), BUSY),
        ("E", shows("1 name  2 req/s")),
        ("slash 'cpu enter", shows("GET /cpu"), hides("GET /io")),
        ("enter", shows("over levels")),
        ("R", shows("Requests of GET /cpu  2 of 3 kept")),
        ("escape escape escape", on(ExplorerScreen), did()),
        size=WIDE,
    )


async def test_the_arrow_keys_move_the_inspection_cursor_in_the_charts_of_an_endpoint() -> None:
    stage = with_requests(events=session([(10, 12), (80, 12), (30, 12)]))
    async with stage.run(WIDE) as pilot:
        inspecting, last = stage.app.explorer.inspecting, len(stage.app.explorer.shown) - 1
        await pilot.press("3", "E", "enter")  # 3: the capacity curve, in which the arrow keys move from point to point
        await until(pilot, lambda: shows("over levels")(stage))
        found = []
        for key in ("left", "left", "left", "right", "shift+left", "down", "up"):
            await pilot.press(key)
            found.append(inspecting.tick)
        assert found[:5] == [last, last - 1, last - 2, last - 1, last - 11]
        assert [stage.app.explorer.shown.level_at(tick or 0) for tick in found[5:]] == stage.app.explorer.shown.levels[-2:]
        assert shows("║", "←→ 1 s")(stage)
        await pilot.press("right_parenthesis")
        assert inspecting.time.length_s is not None
        await pilot.press("escape", "escape")
        await until(pilot, lambda: on(ExplorerScreen)(stage))
        assert inspecting.is_on and shows("INSPECT")(stage) and stage.controls.calls == []


async def test_from_the_failures_to_those_that_failed_and_one_of_them() -> None:
    await tell(
        with_requests(request(1), BUSY, request(5, status=504, error="504: late")),
        ("f R", ALL_FAILED),
        ("enter", shows('"error": "pool exhausted"')),
        ("escape K", shows("Requests that failed: 503: busy  1 of 3 kept")),
        ("K", shows("Requests that failed: 504: late  1 of 3 kept")),
        ("K", ALL_FAILED),
        ("f", shows("3 of 3 kept")),
    )


async def test_from_a_chosen_cause_to_its_own_requests_and_to_all_that_failed() -> None:
    def failing(*types: str, **fields: Any) -> FailureTick:
        return FailureTick(name="/cpu", method="GET", signature=FailureSignature(types=types, **fields), count=3)

    failures = failing("LocustBadStatusCode", status=503, text="busy"), failing("CatchResponseError", text="lost_updates")
    last = next(event for event in reversed(session()) if isinstance(event, Sample))
    causes = [
        cause("load_shedding", last.t_s, 80, count=3, last_s=last.t_s + 1),
        cause("failed_check", last.t_s, 80, count=3, last_s=last.t_s + 1, check="lost_updates"),
    ]
    stage = with_requests(
        request(1),
        request(2, status=503, error="503 busy", at_s=last.t_s),
        request(3, error="CatchResponseError lost_updates", at_s=last.t_s),
        events=[*session(), replace(last, t_s=last.t_s + 1, failures=failures), *causes],
    )
    await tell(
        stage,
        ("f down R", shows("Requests: the service refuses requests (HTTP 503)  1 of 3 kept")),
        (
            "escape up down down R",
            shows("Requests: failed check: lost_updates  1 of 3 kept", "c cause/all   / filter   Esc close"),
        ),
        ("c", ALL_FAILED),
        ("escape d j R", shows("Requests: GET /cpu: ")),
        ("escape up R", ALL_FAILED, did()),
    )


async def test_from_a_point_and_from_its_level_to_the_requests_of_that_level_and_to_all() -> None:
    latest, earlier = (level.opened.index for level in reversed(Timeline(session()).levels[-2:]))
    await tell(
        with_requests(*(at_level(request(number), index) for number, index in ((1, latest), (2, latest), (3, earlier)))),
        ("i R", shows(f"Requests of level {latest}  2 of 3 kept")),
        ("l", shows("Requests  3 of 3 kept")),
        ("escape down i", shows("R requests")),
        ("R", shows(f"Requests of level {earlier}  1 of 3 kept")),
    )


async def test_a_session_without_kept_requests_shows_the_reason() -> None:
    await tell(with_requests(why_none="no requests were kept: run it with --keep-bodies"), ("R", shows("no requests were kept")))


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("headers", "trace_url", "line"),
    [
        ((("Traceparent", f"00-{TRACE}-00f067aa0ba902b7-01"),), "http://t/{trace_id}?a", f"trace http://t/{TRACE}?a"),
        ((("Traceparent", f"00-{TRACE}-00f067aa0ba902b7-01"),), None, None),
        ((("traceparent", "nonsense"),), "http://t/{trace_id}", None),
        ((), "http://t/{trace_id}", None),
    ],
)
def test_a_request_links_to_its_trace_where_the_session_says_traces_are_shown(
    headers: Headers, trace_url: str | None, line: str | None
) -> None:
    kept = replace(request(1, name="/cpu"), sent_headers=headers)
    traces = [each.text for each in request_lines(kept, trace_url) if each.text.startswith("trace ")]
    assert traces == ([] if line is None else [line])
