"""The screen of a comparison: warnings first, two distinct curves, differences with signs, nothing cut off."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from report.compared import HOST, LevelSpec, knee, overheads, timeline
from textual.geometry import Size

from capexplorer.report.compare import Comparison, Session, compare
from capexplorer.tui.display_options import Palette
from capexplorer.tui.screens import compare as compare_screen
from capexplorer.tui.screens.compare import CompareApp, capacity_chart, latency_chart

PALETTE = Palette()


def sample(**other: Any) -> Comparison:
    before = timeline([LevelSpec(10, 40.0), LevelSpec(50, 90.0, p50_ms=40.0), LevelSpec(80, 95.0)], more=[knee(45, 90.0)])
    after = timeline([LevelSpec(10, 41.0), LevelSpec(50, 70.0, p50_ms=90.0), LevelSpec(80, 120.0, None)], id="b", **other)
    return compare([Session(before, title="before\x1b[31m [bold]x"), Session(after)])


@contextlib.asynccontextmanager
async def shown(comparison: Comparison, *keys: str, size: tuple[int, int] = (80, 24)) -> AsyncIterator[str]:
    app = CompareApp(comparison)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        yield "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_warnings_are_at_the_top() -> None:
    other = msgspec.structs.replace(HOST, cpus=64)
    async with shown(sample(host=other, client_overhead_ms=overheads(HttpUser=2.0))) as text:
        lines = text.splitlines()
        assert lines[0].startswith(" ! Conditions differ (cores, client)")
        assert any("costs 1.5 ms more" in line for line in lines[:6])
        assert "is worse than A: goodput at 50 users" in text
        assert "knee A" in text


async def test_views_are_chosen_by_number_and_by_tab() -> None:
    async with shown(sample()) as text:
        assert "goodput/s by users" in text
    for keys in (("2",), ("tab",)):
        async with shown(sample(), *keys) as text:
            assert "p95 ms by users" in text
    async with shown(sample(), "3") as text:
        assert "▼ worse" in text and "noise unknown" not in text.splitlines()[0]
    async with shown(sample(), "4") as text:
        assert "No condition differs" in text and "before␛[31m [bold]x" in text


async def test_a_logarithmic_latency_has_other_ticks() -> None:
    async with shown(sample(), "2") as plain, shown(sample(), "2", "l") as log:
        assert plain != log
        assert "0┤" in plain and "0┤" not in log.replace("00┤", "").replace("20┤", "").replace("50┤", "").replace("10┤", "")


async def test_a_wide_screen_shows_all_four_at_once() -> None:
    async with shown(sample(), size=(120, 40)) as text:
        for part in ("goodput/s by users", "p95 ms by users", "▼ worse", "No condition differs"):
            assert part in text


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
async def test_escape_leaves_it(key: str) -> None:
    app = CompareApp(sample())
    async with app.run_test() as pilot:
        await pilot.press(key)
    assert app.return_code == 0


@pytest.mark.parametrize("keys", [("1",), ("2",), ("3",), ("4",)])
async def test_nothing_is_cut_off_at_80x24(keys: tuple[str, ...]) -> None:
    async with shown(sample(), *keys) as text:
        lines = text.splitlines()
        assert len(lines) == 24
        assert "q back" in lines[-1]
        assert not any("…" in line for line in lines[:-1] if "users" in line)


def test_the_level_table_reads_without_colour() -> None:
    text = compare_screen.levels(sample(), PALETTE).plain
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "50 goodput/s 90.0 70.0 -20.0 -22.2% 3.73 ▼ worse" in lines
    assert "80 goodput/s 95.0 120.0 +25.0 +26.3% unknown noise unknown" in lines
    assert all(len(line) <= compare_screen.TABLE_CELLS for line in text.splitlines())


@pytest.mark.parametrize("size", [(1, 1), (10, 3), (40, 8), (118, 20)])
def test_curves_are_drawn_at_any_size_also_of_nothing(size: tuple[int, int]) -> None:
    nothing = compare([Session(timeline([LevelSpec(1, settled=False)])), Session(timeline([]))])
    for comparison in (sample(), nothing):
        drawn = capacity_chart(comparison, PALETTE, Size(*size))
        drawn += latency_chart(comparison, PALETTE, Size(*size))
        drawn += latency_chart(comparison, PALETTE, Size(*size), log=True)
        assert all(strip.cell_length <= size[0] for strip in drawn)
