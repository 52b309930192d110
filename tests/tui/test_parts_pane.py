"""The Parts pane: what would show more of a well-known server whose processes alone are read."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from capexplorer.model.events import PartState, Sample
from capexplorer.model.readings import HostReading, PartReading, TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.tui.panes.resources import PartsPane

from .drawn import pane_text

SIZE = Size(120, 20)


def parts_of(program: str, server: dict[str, float]) -> str:
    """The pane with one part that runs this program, and these figures of its own."""
    state = PartState(t_s=1.0, name="db", state="read", place="here: port 5432", program=program, pid=17)
    target = TargetReading(pid=17, processes=6, cpu_ratio=0.4)
    reading = PartReading(name="db", age_s=0.3, target=target, host=HostReading(), server=server)
    sample = Sample(t_s=2.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", parts=(reading,))
    return pane_text(PartsPane(), Timeline([state, sample]), SIZE)


@pytest.mark.parametrize("width", [38, 78, 118])
def test_without_parts_the_pane_says_in_full_how_to_watch_one(width: int) -> None:
    shown = " ".join(pane_text(PartsPane(), Timeline([]), Size(width, 12)).split())
    assert shown.endswith("[[watch]] in a profile")


@pytest.mark.parametrize(
    ("program", "key"),
    [
        ("postgres", "postgres"),
        ("redis-server", "redis"),
        ("nginx", "nginx"),
        ("mysqld", "prometheus"),
        ("mariadbd", "prometheus"),
    ],
)
def test_a_known_server_that_is_read_as_a_process_alone_names_the_key_of_its_own_figures(program: str, key: str) -> None:
    assert f"`{key} = URL`" in parts_of(program, {})


def test_a_server_whose_own_figures_are_read_and_an_unknown_program_name_no_key() -> None:
    assert "URL" not in parts_of("postgres", {"connections": 3.0})
    assert "URL" not in parts_of("shop", {})
