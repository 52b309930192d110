"""What processes of capexplorer share: isolated starts, lines over pipes, signals as events, /proc/PID/stat."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.package import PACKAGE

from capexplorer.procs import isolated
from capexplorer.procs.lines import LineSplitter, Unsent, lines_of, write_all
from capexplorer.procs.processes import Stat, stat_in, stat_of, stats

MODULES = ("isolated", "lines", "signals", "processes")


def printed(folder: Path, program: list[str]) -> str:
    return subprocess.run(program, cwd=folder, input="", capture_output=True, text=True, check=True).stdout


def test_a_module_in_the_working_folder_shadows_none_of_the_library(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "capexplorer.py").write_text("raise SystemExit('shadowed')")
    assert printed(tmp_path, isolated.command("capexplorer.read.parts_process", has_site=True)) == ""


def test_the_arguments_come_after_the_folder_of_the_package() -> None:
    *start, root, first, second = isolated.command("a.module", "3", "4")
    assert start[:4] == [sys.executable, "-I", "-S", "-c"]
    assert (Path(root) / "capexplorer" / "procs").is_dir()
    assert (first, second) == ("3", "4")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_procs_needs_the_standard_library_alone(tmp_path: Path, module: str) -> None:
    root = str(PACKAGE.parent)
    program = (
        f"import sys; sys.path.append({root!r}); import capexplorer.procs.{module}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__', 'capexplorer'}))"
    )
    assert printed(tmp_path, [sys.executable, "-I", "-S", "-c", program]) == "[]\n"


PIECES = st.lists(st.text(alphabet="ab\n", max_size=6).map(str.encode), max_size=12)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            pass


@given(PIECES)
def test_pieces_of_any_length_give_the_lines_of_the_whole(pieces: list[bytes]) -> None:
    splitter = LineSplitter()
    lines = [line for piece in pieces for line in splitter.add(piece)]
    assert [*lines, splitter.rest] == b"".join(pieces).split(b"\n")
    assert splitter.end() == [line for line in [b"".join(pieces).split(b"\n")[-1]] if line]
    assert splitter.end() == []


@given(PIECES)
def test_long_lines_are_cut_alike_for_any_pieces(pieces: list[bytes]) -> None:
    splitter = LineSplitter(kept_bytes=3)
    lines = [line for piece in pieces for line in splitter.add(piece)]
    assert [*lines, splitter.rest] == [line[:3] for line in b"".join(pieces).split(b"\n")]


def test_lines_of_a_pipe_end_with_it(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"one\ntwo\nthr")
    os.close(writer)
    assert list(lines_of(reader)) == [b"one", b"two"]


def test_a_write_to_a_pipe_that_blocks_is_whole(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    data = bytes(1_000) * 300  # more than a pipe holds
    writing = threading.Thread(target=write_all, args=(writer, data))
    writing.start()
    read = bytearray()
    while len(read) < len(data):
        read += os.read(reader, 65_536)
    writing.join()
    assert read == data


def test_what_a_slow_reader_leaves_waits_and_comes_in_order(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    for descriptor in pipe:
        os.set_blocking(descriptor, False)
    unsent, data = Unsent(writer), b"".join(b"%d\n" % number for number in range(50_000))
    unsent.add(data)
    unsent.flush()
    assert 0 < len(unsent) < len(data)
    read = b""
    while len(read) < len(data):
        read += os.read(reader, 65_536)
        unsent.flush()
    assert (read, len(unsent)) == (data, 0)


def test_bytes_for_a_reader_that_is_gone_are_dropped(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.close(reader)
    unsent = Unsent(writer)
    unsent.add(b"x")
    unsent.flush()
    assert len(unsent) == 0


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


PROGRAM = """
import os, select, signal, subprocess, sys
from capexplorer.procs.signals import wake_on

wake = wake_on(signal.SIGTERM, signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGUSR1)
select.select([wake], [], [])
print(list(os.read(wake, 10)) == [signal.SIGUSR1])
of_child = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
print(subprocess.run([sys.executable, "-c", of_child], capture_output=True, text=True).stdout.strip())
"""


def test_a_signal_wakes_the_loop_and_children_have_the_default() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
