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


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            ["an analysis: 1,000 ms, p99 5.0"],
            ["an analysis: 500 ms, p99 5.0"],
            ["an analysis: 500 ms, p99 5.0", "    old     1,000  5.0", "    new       500  5.0", "    new/old  0.50    ="],
        ),
        (["24 levels: 3 ms"], ["24 levels: 3 ms"], ["24 levels: 3 ms"]),
        (
            ["flat 1", "flat 2", "gone 3"],
            ["flat 1", "flat 2", "flat 3"],
            ["flat 1", "flat 2", "flat 3\n    only in new", "gone 3\n    only in old"],
        ),
    ],
    ids=["figures in columns with their ratio", "unchanged", "rows match in their order, those of one run are listed"],
)
def test_lines_of_two_runs_are_compared(old: list[str], new: list[str], lines: list[str]) -> None:
    assert compared({"look": old}, {"look": new}) == ["\n== look", *lines]


def test_a_benchmark_of_one_run_alone_is_listed() -> None:
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
