"""All undamaged lines of a log are read, and a file that is not a log is refused in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from bisect import bisect_right
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.scenario import HEADER, log_lines

from capexplorer.errors import SessionError
from capexplorer.model.events import LevelClosed, Note, Unknown
from capexplorer.model.figures import LevelFigures
from capexplorer.session.codec import encode, sealed
from capexplorer.session.reader import open_session, read

from .samples import ONE_OF_EACH

LINES = log_lines(ONE_OF_EACH)
WHOLE = b"".join(LINES)
OF_SCHEMA_1 = msgspec.structs.replace(HEADER, schema=1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sessions") / "session.jsonl"


def test_a_log_cut_at_any_byte_is_its_whole_lines_or_one_line_of_error(path: Path) -> None:
    for length in range(len(WHOLE)):
        path.write_bytes(WHOLE[:length])
        whole_lines = WHOLE[: length + 1].count(b"\n")  # a line that only lacks its newline is whole
        if not whole_lines:
            with pytest.raises(SessionError, match=r"empty|its header is cut off"):
                open_session(path)
            continue
        with open_session(path) as session:
            assert list(session) == list(ONE_OF_EACH[:whole_lines])
            at_the_end = WHOLE[:length].endswith(b"\n") or WHOLE[: length + 1].endswith(b"\n")
            dropped = f"line {whole_lines + 1}: cut off, dropped (the recording was ended while it was written)"
            assert session.notes == ([] if at_the_end else [dropped])


@given(st.integers(1, len(LINES) - 1), st.data())
def test_a_damaged_line_is_skipped_and_all_others_are_read(path: Path, index: int, data: st.DataObject) -> None:
    line = LINES[index][:-1]
    at = data.draw(st.integers(0, len(line)))
    junk = data.draw(st.binary(min_size=1, max_size=30)).replace(b"\n", b"\0")
    lines = [*LINES]
    lines[index] = line[:at] + junk + line[at + data.draw(st.integers(0, 40)) :] + b"\n"
    path.write_bytes(b"".join(lines))
    with open_session(path) as session:
        events = list(session)
    if lines[index] in (LINES[index], line + b"\r\n"):  # the same line, or with the line end of Windows
        assert events == list(ONE_OF_EACH) and not session.notes
        return
    assert events == [*ONE_OF_EACH[:index], *ONE_OF_EACH[index + 1 :]]
    assert len(session.notes) == 1 and session.notes[0].startswith(f"line {index + 1}: skipped: damaged: ")


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(len(LINES))))
def test_lines_out_of_their_order_are_left_out_and_noted(path: Path, order: list[int]) -> None:
    path.write_bytes(b"".join(LINES[index] for index in order))
    if order[0] != 0:
        with pytest.raises(SessionError, match="no header in its first line, but a `"):
            open_session(path)
        order = [0, *(index for index in order if index != 0)]
        path.write_bytes(b"".join(LINES[index] for index in order))
    ascending = [index for place, index in enumerate(order) if index == max(order[: place + 1])]
    with open_session(path) as session:
        assert list(session) == [ONE_OF_EACH[index] for index in ascending]
    left_out = [note for note in session.notes if "duplicated or moved" in note]
    assert len(left_out) == len(order) - len(ascending)


@pytest.mark.parametrize("flipped", [0x01, 0x80])
def test_every_flipped_bit_after_the_header_is_noted_and_only_its_line_is_lost(path: Path, flipped: int) -> None:
    starts = [len(b"".join(LINES[:index])) for index in range(len(LINES))]
    for at in range(len(LINES[0]), len(WHOLE) - 1):
        content = bytearray(WHOLE)
        content[at] ^= flipped
        path.write_bytes(content)
        with open_session(path) as session:
            events = list(session)
        index = bisect_right(starts, at) - 1
        lost = 2 if WHOLE[at] == ord("\n") and flipped == 0x80 else 1  # without its newline the line is joined with the next one
        if WHOLE[at] == ord("\n") and flipped == 0x01:
            lost = 2
        assert len(events) >= len(ONE_OF_EACH) - lost, at
        assert session.notes and session.notes[0].startswith(f"line {index + 1}: "), at
        assert all(event in ONE_OF_EACH for event in events), at


def test_a_header_that_was_damaged_anywhere_is_refused_in_one_line(path: Path) -> None:
    for at in range(len(LINES[0]) - 1):
        content = bytearray(WHOLE)
        content[at] ^= 0x01
        path.write_bytes(content)
        with pytest.raises(SessionError) as refused:
            open_session(path)
        assert str(refused.value).startswith(f"{path}: ") and "\n" not in str(refused.value), at


def test_the_checksum_of_a_line_is_the_crc32_of_all_before_it(path: Path) -> None:
    path.write_bytes(WHOLE)
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        fields = json.loads(line)
        assert (fields["line"], list(fields)[-2:]) == (number, ["line", "crc"])
        assert int(fields["crc"], 16) == zlib.crc32(line.rpartition(b',"crc"')[0])


def test_missing_lines_are_noted_where_they_are_missing(path: Path) -> None:
    path.write_bytes(b"".join([*LINES[:3], *LINES[5:8], *LINES[9:]]))
    with open_session(path) as session:
        assert list(session) == [*ONE_OF_EACH[:3], *ONE_OF_EACH[5:8], *ONE_OF_EACH[9:]]
    assert session.notes == [
        "line 4: 2 lines missing before it",
        "line 7: 1 line missing before it",
    ]


def test_a_duplicated_line_counts_once(path: Path) -> None:
    path.write_bytes(b"".join([*LINES[:6], LINES[5], *LINES[6:]]))
    with open_session(path) as session:
        assert list(session) == list(ONE_OF_EACH)
    assert session.notes == ["line 7: skipped: it is line 6 of the recording, duplicated or moved"]


def test_unknown_types_and_fields_survive(path: Path) -> None:
    hologram = Unknown(t_s=3.5, original_type="hologram", fields={"depth": 2})
    later = json.dumps({**json.loads(encode(ONE_OF_EACH[7])), "new_field": 1}).encode()
    path.write_bytes(b"".join(log_lines([HEADER, hologram])) + sealed(later, 3) + b"\n")
    assert list(read(path)) == [HEADER, hologram, ONE_OF_EACH[7]]


def test_a_second_header_is_skipped_with_a_note(path: Path) -> None:
    path.write_bytes(b"".join(log_lines([HEADER, ONE_OF_EACH[7], HEADER])))
    with open_session(path) as session:
        assert list(session) == [HEADER, ONE_OF_EACH[7]]
    assert session.notes == ["line 3: skipped: a second header"]


def test_a_gap_that_a_power_failure_left_is_noted(path: Path) -> None:
    path.write_bytes(LINES[0] + LINES[1] + bytes(4096))
    with open_session(path) as session:
        assert list(session) == [HEADER, ONE_OF_EACH[1]]
    assert len(session.notes) == 1


def test_of_very_many_bad_lines_the_first_are_noted_and_the_rest_counted(path: Path) -> None:
    path.write_bytes(LINES[0] + b"junk\n" * 1000 + LINES[1])
    with open_session(path) as session:
        assert list(session) == [HEADER, ONE_OF_EACH[1]]
    assert len(session.notes) == 21
    assert session.notes[-1] == "980 more notes"


def test_lines_of_megabytes_and_blank_ones_are_read(path: Path) -> None:
    large = Note(t_s=1.0, text="x" * 8_000_000)
    header, first, second = log_lines([HEADER, large, ONE_OF_EACH[7]])
    path.write_bytes(header + first + b"\n\r\n" + second)
    with open_session(path) as session:
        assert list(session) == [HEADER, large, ONE_OF_EACH[7]]
    assert session.notes == []


READ_IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from capexplorer.session.reader import open_session

resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
with open_session(Path(sys.argv[1])) as session:
    print(len(list(session)), session.notes)
"""


@pytest.mark.parametrize("length", [200 << 20, 6 << 40], ids=["200 MB", "6 TB"])
def test_a_very_long_line_is_skipped_within_400_mb_of_memory(tmp_path: Path, length: int) -> None:
    path = tmp_path / "sparse.jsonl"
    with path.open("wb") as file:
        file.write(LINES[0] + LINES[1])
        file.seek(length, os.SEEK_CUR)
        file.write(b"\n" + LINES[2])
    done = subprocess.run([sys.executable, "-c", READ_IN_LITTLE_MEMORY, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "3 ['line 3: skipped: longer than 8 MB']\n"


def test_a_named_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    with pytest.raises(SessionError, match="not a regular file$"):
        open_session(path)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.replace(b"\n", b"\r\n"))
    assert list(read(path)) == list(ONE_OF_EACH)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty: nothing was recorded"),
        (b"\x7fELF\x02\x01\x01\0\0\0" * 100, "not a session log"),
        (b"{\0\0\0\n", "not a session log"),
        (b"Timestamp,User Count,Type\n1,2,3\n", "not a session log"),
        (WHOLE.decode().encode("utf-16"), "encoded as UTF-16; a session log is UTF-8"),
        (WHOLE.decode().replace("✂", "é").encode("latin-1", "replace"), "not UTF-8"),
        (b'{"type":"header"\n', "not valid JSON"),
        (b'{"type":"header","t_s":0}\n', "its header names no schema"),
        (b'{"type":"header","t_s":0,"schema":true}\n', "its header names no schema"),
        (sealed(b'{"type":"header","t_s":0,"schema":2}', 1) + b"\n", "not a `header` event"),
        (b'{"users":3}\n', "not an event"),
        (LINES[7] + LINES[0], "no header in its first line, but a `note`"),
        (LINES[0].replace(b'"schema":2', b'"schema":99'), "line 1, its header, is damaged: its checksum is"),
        (LINES[0].replace(b'"schema":2', b'"schema":1'), "line 1, its header, is damaged: its checksum is"),
        (encode(HEADER) + b"\n", "line 1, its header, is damaged: it has no checksum"),
        (b"".join(log_lines([OF_SCHEMA_1])), r"has format 1, written by capexplorer 0\.\d\.0; capexplorer \S+ reads format 2"),
        (
            encode(OF_SCHEMA_1).replace(b'"schema":1', b'"schema":99'),
            r"has format 99, written by capexplorer 0\.\d\.0; capexplorer \S+ reads format 2",
        ),
        (encode(OF_SCHEMA_1).replace(b'"schema":1', b'"schema":0'), "has format 0"),
        (b'{"type":"header","t_s":0,"schema":99,"all":"new"}\n', "has format 99, written by an unknown version"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_not_a_session_is_refused_in_one_line(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(SessionError, match=message) as refused:
        open_session(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_a_folder_and_a_missing_file_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="a folder, not a session$"):
        open_session(tmp_path)
    with pytest.raises(SessionError, match="no such session$"):
        open_session(tmp_path / "missing.jsonl")


def test_reading_can_be_stopped_after_the_first_event(path: Path) -> None:
    closed = LevelClosed(t_s=1.0, index=0, users=1, started_s=0.0, figures=LevelFigures(settled=False))
    path.write_bytes(b"".join(log_lines([HEADER, closed])))
    events = read(path)
    assert next(events) == HEADER
    events.close()  # type: ignore[attr-defined]
