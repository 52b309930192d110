"""What panes and the status show of a session in which rates are offered, instead of users. At 80x24 and 120x40."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from capexplorer.model.events import Event

from .rates import rate_events
from .session_events import session
from .stage import NARROW, WIDE, Stage


@pytest.mark.parametrize("size", [NARROW, WIDE])
@pytest.mark.parametrize("events_of_session", [rate_events, session], ids=["offered rates", "users"])
async def test_no_title_of_a_pane_is_shortened_in_any_arrangement(
    events_of_session: Callable[[], Sequence[Event]], size: tuple[int, int]
) -> None:
    stage = Stage(events_of_session())
    async with stage.run(size) as pilot:
        for key in ("l", "L", "L", "f", "d"):
            top_borders = [line for line in stage.screen_text().splitlines() if "╭" in line]
            assert top_borders, "no pane is shown"
            assert [line for line in top_borders if "…" in line] == [], f"before the key {key}"
            await pilot.press(key)
            await pilot.pause()
