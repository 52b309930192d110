"""The comparison of two saved runs of benchmarks: which lines match, and the figures below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.bench import comparison as kept
from lab.bench.comparison import compared_lines, shape
from lab.kit.record import Conditions

BEGAN = Conditions(commit="abc", started_at="2026-01-01T00:00:00+00:00", cpus=2, load_average_1m=0.5, steal_s=0.0)


def compared(old: dict[str, list[str]], new: dict[str, list[str]]) -> list[str]:
    lines = list(compared_lines(kept.Kept(began=BEGAN, printed=old), kept.Kept(began=BEGAN, printed=new)))
    assert lines[0] == "old: commit abc, 2026-01-01T00:00:00+00:00, load 0.5 to 0 on 2 cores"
    return lines[2:]


def test_figures_stand_in_columns_with_their_ratio() -> None:
    assert compared({"look": ["an analysis: 1,000 ms, p99 5.0"]}, {"look": ["an analysis: 500 ms, p99 5.0"]}) == [
        "\n== look",
        "an analysis: 500 ms, p99 5.0",
        "    old     1,000  5.0",
        "    new       500  5.0",
        "    new/old  0.50    =",
    ]


def test_an_unchanged_figure_is_printed_once() -> None:
    assert compared({"look": ["24 levels: 3 ms"]}, {"look": ["24 levels: 3 ms"]}) == ["\n== look", "24 levels: 3 ms"]


def test_rows_of_a_table_match_in_their_order_and_rows_of_one_run_alone_are_listed() -> None:
    old, new = ["flat 1", "flat 2", "gone 3"], ["flat 1", "flat 2", "flat 3"]
    assert compared({"leaks": old}, {"leaks": new}) == [
        "\n== leaks",
        "flat 1",
        "flat 2",
        "flat 3\n    only in new",
        "gone 3\n    only in old",
    ]
    assert compared({"a": ["x"]}, {"b": ["x"]}) == ["\n== b", "only in new", "\n== a\nonly in old"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("p99 of kv-go: 1.5", "p99 of kv-go: #"),
        ("0.92 (1.22, -3)   1,884/s", "# (#, #) #/s"),
        ("ratio 0 to 1e-05", "ratio # to #"),
    ],
)
def test_a_figure_is_not_part_of_a_word(line: str, expected: str) -> None:
    assert shape(line) == expected


def test_printed_figures_are_shown_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = kept.Kept(began=BEGAN)
    run.printed["look"] = kept.printed(lambda: print("an analysis: 3 ms\n"))
    assert capsys.readouterr().out == "an analysis: 3 ms\n\n"
    kept.save(run, tmp_path / "run.json")
    assert kept.read(tmp_path / "run.json").printed == {"look": ["an analysis: 3 ms"]}
    assert run.load_average_1m >= 0
