"""Lines over pipes: the same for any pieces, cut where they are to be, and never a wait for a slow reader."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.procs.lines import LineSplitter, Unsent, lines_of, write_all

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
