"""Files that `import` reads: which forms of text are accepted, and which are refused in one line with file and line number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.errors import InputError
from capexplorer.model.events import Ended, Event, Header, LevelClosed
from capexplorer.session.codec import encode
from capexplorer.session.importers import imported

DATA = Path(__file__).resolve().parent.parent / "data"

TODAY = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,"
TODAY += "Total Request Count,Total Failure Count,Total Average Response Time"
TABLE = "users,throughput_rps,latency_ms,failure_ratio"


def take(*paths: Path) -> list[Event]:
    return imported(paths, None, settling_s)


def saved(folder: Path, content: str | bytes, name: str = "a_stats_history.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def closed(events: Sequence[Event]) -> list[LevelClosed]:
    return [event for event in events if isinstance(event, LevelClosed)]


def steady_history(seconds: int = 41, *, end: str = "\n", row: str = "{t},10,,Aggregated,99.9,0.0,{na},{n},0,20.5") -> str:
    """A history of ten users who start in the first second and then make 30 requests per second."""
    lines = ["1700000000,0,,Aggregated,0.0,0.0,,0,0,0.0"]
    lines += [row.format(t=1_700_000_000 + t, n=30 * t, na="N/A" if t < 5 else "20") for t in range(1, seconds)]
    return end.join([TODAY, *lines]) + end


def rate(events: Sequence[Event]) -> float:
    [level] = closed(events)
    assert level.figures.throughput_rps is not None
    return level.figures.throughput_rps


@pytest.mark.parametrize(
    "content",
    [
        steady_history(),
        steady_history(end="\r\n"),
        steady_history().rstrip("\n"),
        "\ufeff" + steady_history(),
        steady_history() + "\n\n",
        steady_history().replace("Total Request Count", "total request count").replace("User Count", "User count"),
        steady_history() + "1700000041,10,,Aggre",
        steady_history() + "1700000041,10,",
        steady_history().replace(",Aggregated,", ',"Aggregated",'),
        steady_history().replace("1700000020,10", "1700000020.0,10.0"),
        steady_history() + '1700000041,10,,"Aggre',
    ],
    ids=["plain", "CRLF", "no final newline", "BOM", "blank lines", "case", "cut off", "cut off after a comma", "quotes",
         "floats", "cut off in quotes"],
)  # fmt: skip
def test_a_history_gives_the_same_rate_in_every_form_of_its_text(tmp_path: Path, content: str) -> None:
    assert rate(take(saved(tmp_path, content))) == 30.0


def test_rates_are_differences_of_counts_over_differences_of_time(tmp_path: Path) -> None:
    assert "99.9" in steady_history()  # the column `Requests/s`, a mean over ten seconds, is not used
    assert rate(take(saved(tmp_path, steady_history()))) == 30.0


def test_a_rate_belongs_to_the_users_between_two_rows_not_to_those_of_the_later_one(tmp_path: Path) -> None:
    """Four new users a second that make a request a second each: 4 t at the row of second t, 4 t - 2 in the second before it."""
    rows = [f"{1_700_000_000 + t},{4 * t},,Aggregated,,,,{2 * t * t},0,20.5" for t in range(41)]
    [level] = closed(take(saved(tmp_path, "\n".join([TODAY, *rows, ""]))))
    rates = [(part.figures.throughput_rps or 0.0) / part.users for part in level.bins]
    assert rates == pytest.approx([1.0] * len(rates))


def test_a_duplicated_row_counts_once(tmp_path: Path) -> None:
    twice = "".join(f"{line}\n" * (2 if line[:1] == "1" else 1) for line in steady_history().splitlines())
    assert rate(take(saved(tmp_path, twice))) == 30.0


def test_a_gap_is_one_long_tick(tmp_path: Path) -> None:
    lines = steady_history(101).splitlines()
    del lines[40:60]
    assert rate(take(saved(tmp_path, "\n".join(lines)))) == 30.0


def test_a_clock_that_was_set_back_counts_as_a_pause(tmp_path: Path) -> None:
    lines = steady_history(61).splitlines()
    lines[30] = lines[30].replace("1700000028", "1700000020")
    assert rate(take(saved(tmp_path, "\n".join(lines)))) == 30.0


V0 = '"Timestamp","User count","Type","Name","# requests","# failures","Requests/s","Requests Failed/s","Median response time",'
V0 += '"Average response time","Min response time","Max response time","Average Content Size","50%","100%"'


def test_a_history_of_locust_before_1_0_has_other_names_and_another_order(tmp_path: Path) -> None:
    rows = ['"1700000000","0","None","Aggregated",0,0,0.00,0.00,0,0,0,0.00,0.00,"N/A","N/A"']
    rest = "9.0,9.0,20,20.50,1,99.00,100.00,20,99"
    rows += [f'"{1_700_000_000 + t}","10","None","Aggregated",{30 * t},{t},{rest}' for t in range(1, 41)]
    [level] = closed(take(saved(tmp_path, "\n".join([V0, *rows]))))
    assert (level.figures.throughput_rps, level.figures.goodput_rps) == (30.0, 29.0)
    assert level.figures.response_ms == pytest.approx(20.5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("hello world\n1\n", "line 1: expected Locust's *_stats_history.csv, or a table"),
        (TODAY.replace(",", ";") + "\n1;2\n", "commas between values were expected"),
        (TODAY + "\n", "expected at least two moments"),
        (steady_history(2).splitlines()[0] + "\n" + steady_history().splitlines()[1], "expected at least two moments"),
        ("Type,Name,Request Count,Failure Count\n,Aggregated,1,0\n", "import the *_stats_history.csv beside it"),
        ("Method,Name,Error,Occurrences\n", "Locust's failures"),
        ("Timestamp,Name,Total Request Count\n1,a,2\n", "no column `User Count`, `Total Failure Count`"),
        (
            steady_history().replace(",600,", ",6x0,"),
            "line 22: `Total Request Count`: expected a whole number of at least 0, got '6x0'",
        ),
        (steady_history().replace(",600,", ',"60,0",'), "not a comma"),
        (steady_history().replace(",600,", ",N/A,"), "line 22: `Total Request Count`: expected a whole number"),
        (steady_history().replace(",600,", ",1_000,"), "line 22: `Total Request Count`"),
        (steady_history().replace(",600,", ",-600,"), "line 22: `Total Request Count`"),
        (steady_history().replace(",600,", ",nan,"), "line 22: `Total Request Count`"),
        (steady_history().replace(",600,", ",1e999,"), "line 22: `Total Request Count`"),
        (steady_history().replace("1700000020,", "1700000020123,"), "line 22: `Timestamp`"),
        (steady_history().replace("1700000020,", "1600000020,"), "line 22: `Timestamp` goes back"),
        (steady_history().replace("1700000020,10,,", "1700000020,10,"), "line 22: expected 10 values, as the header has, got 9"),
        (steady_history().replace(",600,", ",600,0,"), "line 22: expected 10 values, as the header has, got 11"),
        (steady_history().replace(",600,0,", ",600,601,"), "line 22: more failures (601) than requests (600)"),
        (steady_history().replace(",600,", ',"6"00,'), "line 22: not CSV"),
        (steady_history().encode("utf-16"), "UTF-16"),
        (steady_history().encode() + b"\xff\xfe\n", "line 43: not UTF-8"),
        (b"\x7fELF\0\0", "binary"),
        (
            '{\n    "root_group": {\n        "name": ""\n    }\n}\n',
            "JSON, not CSV: the summary of a whole run, such as k6's, has no levels; expected Locust's *_stats_history.csv, or",
        ),
        ("users\n1\n", "`throughput_rps` is missing"),
        ("users,throughput\n1,2\n", "unknown column `throughput`; did you mean `throughput_rps`?"),
        (TABLE + ",users\n1,2,3,0,1\n", "column `users` is there twice"),
        (TABLE + "\n", "without rows"),
        (TABLE + "\n1,7,6,0\n8,x,6,0\n", "line 3: `throughput_rps`: expected a number of at least 0, got 'x'"),
        (TABLE + "\n1.5,7,6,0\n", "line 2: `users`: expected a whole number"),
        (TABLE + '\n1,"7,63",6,0\n', "not a comma"),
        (TABLE + "\n1,7,6,5%\n", "line 2: `failure_ratio`: expected a number from 0 to 1, got '5%'"),
        (TABLE + "\n1,7,6,1.5\n", "line 2: `failure_ratio`"),
        (TABLE + "\n1,,6,0\n", "line 2: `throughput_rps`"),
        ("metric_name,timestamp,metric_value\ndropped_iterations,1700000001,1\n", "k6's single samples"),
        ("timeStamp,elapsed,label,success,allThreads\n1700000001000,20,items,true,8\n", "JMeter's single samples"),
        ("offered_per_s,throughput_rps\n20,20\n", "a table by offered rate"),
        ("users,throughput_rps,offered_per_s\n1,20,20\n", "a table by offered rate"),
    ],
)
def test_a_refused_file_is_reported_in_one_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = saved(tmp_path, content)
    with pytest.raises(InputError) as refused:
        take(path)
    assert message in str(refused.value) and str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_a_path_that_is_not_a_file_is_refused(tmp_path: Path) -> None:
    refused = {tmp_path / "none.csv": "no such file", tmp_path: "a folder", Path("/dev/zero"): "not a regular file"}
    for path, message in refused.items():
        with pytest.raises(InputError, match=message):
            take(path)


def test_files_that_do_not_form_one_session_are_refused(tmp_path: Path) -> None:
    history, table = saved(tmp_path, steady_history()), saved(tmp_path, f"{TABLE}\n1,7,6,0\n", "table.csv")
    other = saved(tmp_path, f"{TABLE}\n1,8,6,0\n", "other.csv")
    for paths, message in (
        ((history, table), "table.csv: line 1: a Locust stats history was expected"),
        ((table, other), "other.csv: a second table"),
        ((history, saved(tmp_path, steady_history(), "b.csv")), "b.csv: the same content as"),
    ):
        with pytest.raises(InputError, match=message):
            take(*paths)


HISTORY = (DATA / "histories" / "soy-a-8-users_stats_history.csv").read_bytes()
SOME = b"\n".join(HISTORY.split(b"\n")[:25])


DAMAGE = [b",", b"\n", b'"', b"-", b"e9", b"\0", b"9" * 30, b";", b"N/A", b"1e15", b"."]
CELLS = ["0", "1", "17", "1e3", "0.5", "", "N/A", "x", "-1", "1e15", "999999999", "Aggregated"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, len(SOME)),
    st.integers(0, len(SOME)),
    st.one_of(st.binary(max_size=8), st.sampled_from(DAMAGE)),
)
@example(0, 0, b"")
@example(len(SOME), len(SOME), b"\n")
def test_a_damaged_history_is_read_or_refused_never_a_traceback(tmp_path: Path, start: int, end: int, inserted: bytes) -> None:
    path = tmp_path / "a_stats_history.csv"
    path.write_bytes(SOME[:start] + inserted + SOME[end:] if start <= end else SOME[:end] + inserted + SOME[start:])
    read_or_refused(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([TABLE, TODAY, V0, "users,throughput_rps", "Timestamp,User Count,# requests,# failures"]),
    st.lists(st.lists(st.sampled_from(CELLS)), max_size=6),
)
def test_any_cells_under_a_known_header_are_read_or_refused(tmp_path: Path, header: str, rows: list[list[str]]) -> None:
    read_or_refused(saved(tmp_path, "\n".join([header, *(",".join(row) for row in rows)])))


def read_or_refused(path: Path) -> None:
    try:
        events = take(path)
    except InputError as refused:
        assert "\n" not in str(refused)
        return
    assert isinstance(events[0], Header) and isinstance(events[-1], Ended)
    for event in events:
        encode(event)


def test_a_file_larger_than_any_history_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(6 << 40)
    with pytest.raises(InputError, match=r"huge\.csv: of 6291456 MB; at most 256 MB were expected$"):
        imported([path], None, settling_s)
