"""Failures by cause and as raw errors, their count on the tab and in the status line; the verdict; warnings about ports."""

from __future__ import annotations

import msgspec
import pytest
from report.made_sessions import CHANGES, telling
from rich.cells import cell_len
from textual.geometry import Size
from textual.strip import Strip

from capexplorer.model.events import Event, FailureSignature, FailureTick
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.failures import FailuresPane, tally
from capexplorer.wording import TELEMETRY_TITLE

from .session_events import session
from .stage import NARROW, WIDE, Stage, panes, shows, tell
from .troubles import ports_exhausted, troubled

WHOLE = Size(78, 200)
SIZES = [Size(78, 18), Size(118, 34), Size(40, 8), Size(12, 3), Size(1, 1)]


def strips(events: list[Event], size: Size = WHOLE, *, raw: bool = False) -> list[Strip]:
    pane = FailuresPane()
    if raw:
        pane.toggle_raw(True)
    timeline = Timeline(events)
    return pane.draw(timeline, len(timeline) - 1, DisplayOptions(), size)


def shown(events: list[Event], size: Size = WHOLE, *, raw: bool = False) -> list[str]:
    return [strip.text.rstrip() for strip in strips(events, size, raw=raw)]


def colors(strip: Strip) -> set[str]:
    return {segment.style.color.name for segment in strip if segment.text.strip() and segment.style and segment.style.color}


# -- any size and any text


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_lines_fill_the_pane_exactly_and_all_can_be_reached(size: Size, raw: bool) -> None:
    pane, timeline = FailuresPane(), Timeline(troubled())
    pane.toggle_raw(raw)
    first = pane.draw(timeline, len(timeline) - 1, DisplayOptions(), size)
    assert all(cell_len(strip.text) == size.width for strip in first) and len(first) <= size.height
    pane.action_edge(1)
    last = pane.draw(timeline, len(timeline) - 1, DisplayOptions(), size)
    assert last[-1].text == (strips(troubled(), Size(size.width, 5_000), raw=raw))[-1].text


def test_a_hundred_thousand_failures_change_one_line_of_the_raw_errors_and_none_of_the_causes() -> None:
    busy = FailureTick(name="/", method="GET", signature=FailureSignature(types=("OSError",), errno=99), count=1_667)
    timeline = Timeline([*session(), ports_exhausted()])
    for raw, most in ((False, 0), (True, 2)):
        pane = FailuresPane()
        pane.toggle_raw(raw)
        before = pane.draw(timeline, len(timeline) - 1, DisplayOptions(), Size(118, 34))
        for _ in range(3):
            assert timeline.last is not None
            timeline.apply(msgspec.structs.replace(timeline.last, t_s=timeline.last.t_s + 1, failures=(busy,)))
            after = pane.draw(timeline, len(timeline) - 1, DisplayOptions(), Size(118, 34))
            changed = sum(a != b for a, b in zip(before, after, strict=False))
            assert changed <= most or len(before) != len(after)
            before = after


# -- on the screen


def test_only_open_causes_are_counted_or_without_one_those_that_ended() -> None:
    found = tally(Timeline(troubled()))
    assert (found.open, found.ended, found.raw, found.words, found.severe) == (5, 1, 1, "5", True)
    assert tally(Timeline([*session(), ports_exhausted(state="closed")])).words == "1"
    assert tally(Timeline(session())).words == "1" and tally(Timeline()).words == ""


async def test_a_key_leads_to_the_failures_another_to_the_raw_errors_and_both_back() -> None:
    raw, back = shows("Raw errors by endpoint", "GET /cpu: HTTP 503"), lambda stage: len(stage.shown()) == 6
    await tell(
        Stage(troubled()),
        ("5 f", panes("failures"), shows("ephemeral ports exhausted")),
        ("d", raw),
        ("d", shows("Failures by cause")),
        ("f", back),
        ("d", panes("failures"), raw),
        ("O O", back),
        size=WIDE,
    )


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_screen_reports_failures_in_every_arrangement(size: tuple[int, int]) -> None:
    stage = Stage(troubled())
    async with stage.run(size):
        lines = stage.screen_text().splitlines()
        assert size == NARROW or "5 causes (f)" in lines[1]
        text = " ".join(" ".join(lines[2:4]).split())
        assert text.startswith("▸ Limited by the generator's ephemeral ports (TIME_WAIT) from 00:50 at 80 users: ")
        if size == NARROW:
            assert "results above 50 users do not describe the service." in text
            assert lines[4].startswith("  NEXT ")
            assert "7 failures:5" in lines[5] and lines[5].rstrip().endswith("9 parts")


# -- the service's own log and metrics


def test_what_its_own_log_and_metrics_did_is_listed_unless_the_run_is_invalid() -> None:
    lines = shown(telling(CHANGES))
    title = lines.index(f" {TELEMETRY_TITLE}")
    below = " ".join(line.strip() for line in lines[title:])
    assert CHANGES.lines[0].text in below and CHANGES.series[0].name in below
    assert f" {TELEMETRY_TITLE}" not in shown([*telling(CHANGES), ports_exhausted()])
