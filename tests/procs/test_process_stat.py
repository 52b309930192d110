"""/proc/PID/stat: of texts, and of this process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.procs.processes import Stat, stat_in, stat_of, stats

STAT = (
    "4242 (py (3) thon) S 17 4242 4242 0 -1 4194304 1200 34 2 0 150 50 30 12 20 0 7 0 987654 24211456 2222 "
    "18446744073709551615 1 1 0 0 0 0 0 16781312 134301698 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 9\n"
)
WHOLE = Stat("py (3) thon", "S", 17, 4242, 2, 200, 42, 7, 987654, 2222, 9)


def test_fields_count_from_the_last_bracket_of_the_name() -> None:
    assert stat_in(STAT) == WHOLE


@pytest.mark.parametrize("text", [None, "", STAT[:60], "42 (short) S 7"])
def test_a_part_of_the_text_is_no_process(text: str | None) -> None:
    assert stat_in(text) is None


@given(st.text(max_size=15).filter(lambda name: "\0" not in name))
def test_any_name_is_read_back(name: str) -> None:
    found = stat_in(STAT.replace("py (3) thon", name))
    assert found is not None
    assert (found.name, found.parent) == (name, 17)


def test_a_zombie_has_ended() -> None:
    assert [WHOLE._replace(state=state).has_ended for state in "SRZX"] == [False, False, True, True]


@pytest.mark.skipif(sys.platform != "linux", reason="it needs /proc")
def test_this_process_is_among_all_and_one_that_was_reaped_is_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    found = stats()
    assert found[os.getpid()].parent == os.getppid()
    assert child.pid not in found
    assert stat_of(child.pid) is None
