"""A target's output is bounded in line length and in lines per second."""

from __future__ import annotations

from capexplorer.target.supervisor_process import LINE_BYTES, LINES_PER_S, OutputLines


def test_lines_are_the_same_however_the_output_was_split_into_chunks() -> None:
    lines = OutputLines()
    for chunk in (b"on", b"e\ntw", b"o\r\nthr", b"ee"):
        lines.feed(chunk)
    assert lines.take(0.0) == (["one", "two"], 0)
    assert lines.take(0.1) is None
    assert lines.finish() == (["three"], 0)


def test_bytes_that_are_not_text_are_replaced() -> None:
    lines = OutputLines()
    lines.feed(b"caf\xc3\xa9 \xff\xfe\n")
    assert lines.take(0.0) == (["café \ufffd\ufffd"], 0)


def test_long_lines_are_cut() -> None:
    lines = OutputLines()
    for _ in range(50):
        lines.feed(b"x" * LINE_BYTES)
    lines.feed(b"\n" + b"y" * LINE_BYTES + b"\n")
    assert lines.take(0.0) == (["x" * LINE_BYTES + " [cut]", "y" * LINE_BYTES], 0)


def test_of_a_flood_the_last_lines_are_kept_and_the_others_counted() -> None:
    lines = OutputLines()
    for start in range(0, 10_000, 100):
        lines.feed(b"".join(b"%d\n" % number for number in range(start, start + 100)))
    taken = lines.take(0.0)
    assert taken is not None
    assert (taken[0][0], taken[0][-1], taken[1]) == (str(10_000 - LINES_PER_S), "9999", 10_000 - LINES_PER_S)


def test_no_more_than_the_limit_passes_in_a_second() -> None:
    lines = OutputLines()
    lines.feed(b"first\n")
    assert lines.take(0.0) == (["first"], 0)
    lines.feed(b"line\n" * LINES_PER_S)
    assert lines.take(0.5) is None
    assert lines.has_lines
    assert lines.take(1.0) == (["line"] * LINES_PER_S, 0)
    lines.feed(b"more\n")
    assert lines.take(1.5) is None
    assert lines.finish() == (["more"], 0)
