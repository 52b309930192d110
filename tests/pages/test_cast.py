"""docs/recordings/sample.cast is an asciicast (a recorded terminal) of the screen during a sample session, up to its verdict.

`make pictures` renews it.
"""

from __future__ import annotations

import json
import re

import pytest
from rich.style import Style

from capexplorer import wording
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read
from docs import cast

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture(scope="module")
def lines() -> list[list[object]]:
    """[time in s, kind of event, text] of each line below the header."""
    header, *lines = cast.CAST.read_text(encoding="utf-8").splitlines()
    assert json.loads(header)["version"] == 2, "the asciicast version that players support"
    return [json.loads(line) for line in lines]


def test_the_lines_of_the_recording_are_output_in_order_of_time(lines: list[list[object]]) -> None:
    times = [float(str(line[0])) for line in lines]
    assert times == sorted(times)
    assert {line[1] for line in lines} == {"o"}, "o: output"


def test_the_recording_covers_the_whole_session(lines: list[list[object]]) -> None:
    events = tuple(read(cast.SESSION))
    assert len(lines) >= events[-1].t_s / cast.EVERY_S, "run `make pictures`"


def test_the_recording_ends_with_the_verdict_of_the_session(lines: list[list[object]]) -> None:
    verdict = wording.verdict(Timeline(read(cast.SESSION)))
    last = ESCAPES.sub("", "".join(str(line[2]) for line in lines[-3:]))
    assert verdict[:40] in last, "run `make pictures`"


def test_the_recording_is_below_300_kb_and_40_s(lines: list[list[object]]) -> None:
    assert cast.CAST.stat().st_size < 300_000
    assert float(str(lines[-1][0])) < 40


def test_only_cells_that_changed_are_written_again() -> None:
    screens = [[[(character, Style.null()) for character in line] for line in screen] for screen in (["ab", "cd"], ["ab", "cx"])]
    _, first, second, _ = (json.loads(line) for line in cast.cast(screens, (2, 2), "two screens"))
    assert first[2].endswith("\x1b[1;1Hab\x1b[2;1Hcd"), "the whole first screen"
    assert second[2] == "\x1b[2;2Hx", "the one cell that differs"
