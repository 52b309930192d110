"""The screens of sampled stacks: functions by growth, callers and callees, each clock; foreign names control no terminal."""

from __future__ import annotations

from kit.scenario import Scenario
from kit.stacks import POOL_AND_QUERY, session, stacks
from textual.geometry import Size

from capexplorer.model.controls import SampleStacks
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.stacks import StacksTable
from capexplorer.tui.screens.detail_screens import AroundScreen, StacksScreen
from capexplorer.tui.screens.explorer import ExplorerScreen

from .stage import WIDE, Stage, did, hides, on, says, shows, tell

SAMPLING = "sampling stacks; changing the load by hand ends it"


async def test_from_the_functions_to_callers_and_callees_and_back() -> None:
    await tell(
        Stage(session(*POOL_AND_QUERY).events),
        ("F", on(StacksScreen), shows("Per request 199 ms more wait in checkout", "+199")),
        ("", shows("query (db.py:60, in recv)", "get (queue.py:5)")),
        ("F", on(AroundScreen), shows("called by", "handle (app.py:9)", "at line", "db.py:41", "acquire (pool.py)")),
        ("F down enter", shows("query (db.py:60, in recv)", "handle (app.py:12)")),
        ("escape c", on(StacksScreen), shows("Python: CPU time"), hides("queue.py")),
        ("c", shows("waits included")),
        ("/ 'q 'u 'e 'r enter", hides("get (queue.py:5)"), shows("query (db.py:60")),
        ("enter", on(AroundScreen), shows("handle (app.py:12)")),
        ("escape escape", on(ExplorerScreen)),
        size=WIDE,
    )  # fmt: skip


async def test_without_stacks_a_live_run_samples_them() -> None:
    await tell(Stage(session().events, wanted=10), ("F", on(ExplorerScreen), did(SampleStacks()), says(SAMPLING)))


async def test_key_s_samples_stacks_also_where_some_were() -> None:
    await tell(Stage(session(*POOL_AND_QUERY).events, wanted=10), ("S", on(ExplorerScreen), did(SampleStacks()), says(SAMPLING)))


async def test_a_level_in_which_stacks_are_sampled_is_marked() -> None:
    sampled = Scenario().ready().level(5).level(5, stacks=True).events
    await tell(Stage(sampled), ("", shows("stacks sampled: in no curve", "× stacks sampled")), size=WIDE)
    await tell(Stage(Scenario().ready().level(5).level(6).events), ("", hides("stacks sampled")), size=WIDE)


def test_a_function_with_a_hostile_name_stays_on_its_line() -> None:
    sampled = POOL_AND_QUERY[1]._replace(sampled=(stacks({"a\x1b[2J\nb* x.py:1": 3.0}),))
    lines = [strip.text for strip in StacksTable().draw(session(sampled).timeline, 0, DisplayOptions(), Size(100, 20))]
    assert any("a␛[2J␊b (x.py:1)" in line for line in lines)
    assert not any(character < " " for line in lines for character in line)
