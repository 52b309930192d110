"""Bytes, latencies and rates as text, in the units that the user chose; JSON and CSV do not depend on the choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer import cli, configuration, wording
from capexplorer.report.compare import sentences
from capexplorer.report.compare.difference import difference
from capexplorer.report.compare.estimates import Estimate
from capexplorer.report.formats import FORMATS
from capexplorer.session.reader import read
from capexplorer.wording import quantities, units
from capexplorer.wording.units import Units

SAMPLE = Path(__file__).resolve().parents[2] / "sessions" / "sample-taskqueue.jsonl"
DECIMAL, SECONDS, AUTO = Units(bytes="decimal"), Units(latencies="s"), Units(latencies="auto")


@pytest.fixture(autouse=True)
def default_units() -> Iterator[None]:
    """The default units before and after each test, which may choose others."""
    units.choose(Units())
    yield
    units.choose(Units())


@pytest.mark.parametrize(
    ("value", "binary", "decimal"),
    [
        (None, "–", "–"),
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (2**30, "1 GiB", "1.07 GB"),
        (1_000, "0.98 KiB", "1 kB"),
        (1_023_000, "999 KiB", "1.02 MB"),
        (34_100_000, "32.5 MiB", "34.1 MB"),
        (25_200_000_000, "23.5 GiB", "25.2 GB"),
        (-34_100_000, "-32.5 MiB", "-34.1 MB"),
        (5 * 10**15, "4,547 TiB", "5,000 TB"),
    ],
)
def test_a_number_of_bytes_has_a_binary_or_a_decimal_unit_as_chosen(value: float | None, binary: str, decimal: str) -> None:
    assert quantities.size(value) == binary
    units.choose(DECIMAL)
    assert quantities.size(value) == decimal


def test_sizes_in_a_column_as_a_rate_and_beside_a_larger_one_have_the_chosen_unit() -> None:
    units.choose(DECIMAL)
    assert quantities.size_cell(34_100_000) == "34.1M"
    assert quantities.byte_rate(34_100_000) == "34.1 MB/s"
    assert quantities.size(1_000_000, largest=25_200_000_000) == "0.00 GB"


@pytest.mark.parametrize(
    ("value_ms", "ms", "s", "auto"),
    [
        (None, "–", "–", "–"),
        (0.0, "0 ms", "0 s", "0 ms"),
        (0.0421, "0.0421 ms", "0.0000421 s", "42.1 µs"),
        (0.421, "0.421 ms", "0.000421 s", "421 µs"),
        (0.9996, "1 ms", "0.001 s", "1 ms"),
        (12.14, "12.1 ms", "0.0121 s", "12.1 ms"),
        (999.4, "999 ms", "0.999 s", "999 ms"),
        (999.6, "1,000 ms", "1 s", "1 s"),
        (42_140.0, "42,140 ms", "42.1 s", "42.1 s"),
    ],
)
def test_a_latency_in_a_sentence_has_three_digits_in_the_chosen_unit(value_ms: float | None, ms: str, s: str, auto: str) -> None:
    for chosen, expected in zip((Units(), SECONDS, AUTO), (ms, s, auto), strict=True):
        units.choose(chosen)
        assert quantities.latency(value_ms) == expected


@pytest.mark.parametrize(
    ("value_ms", "ms", "s", "auto"),
    [
        (None, "–", "–", "–"),
        (float("nan"), "–", "–", "–"),
        (0.0, "0.00", "0.00", "0.00ms"),
        (0.0421, "0.042", "0.0000", "42.1µs"),
        (0.4213, "0.421", "0.0004", "421µs"),
        (4.2, "4.20", "0.0042", "4.20ms"),
        (421.3, "421", "0.421", "421ms"),
        (4_213, "4,213", "4.21", "4.21s"),
        (42_130, "42.1s", "42.1", "42.1s"),
        (421_300, "421s", "421", "421s"),
    ],
)
def test_a_latency_in_a_column_fits_the_column(value_ms: float | None, ms: str, s: str, auto: str) -> None:
    for chosen, expected in zip((Units(), SECONDS, AUTO), (ms, s, auto), strict=True):
        units.choose(chosen)
        assert quantities.latency_cell(value_ms) == expected
        assert len(expected) <= quantities.latency_cells()


def test_the_title_of_a_column_has_the_unit_unless_each_value_has_one() -> None:
    assert (quantities.latency_title("p95"), quantities.latency_below_title(12.1)) == ("p95 ms", "12.1")
    units.choose(SECONDS)
    assert (quantities.latency_title("p95"), quantities.latency_below_title(12.1)) == ("p95 s", "0.0121")
    units.choose(AUTO)
    assert (quantities.latency_title("p95"), quantities.latency_below_title(12.1)) == ("p95", "12.1 ms")


def test_two_latencies_of_a_sentence_have_the_same_unit() -> None:
    assert quantities.latencies((12.0, 480.0)) == "12 → 480 ms"
    units.choose(AUTO)
    assert quantities.latencies((12.0, 1_480.0)) == "0.012 → 1.48 s"


@pytest.mark.parametrize(
    ("per_s", "sentence", "cell"),
    [
        (None, "–", "–"),
        (4.211, "4.21/s", "4.21"),
        (121.44, "121/s", "121"),
        (4_213.0, "4,213/s", "4,213"),
        (12_130.0, "12,130/s", "12.1k"),
        (2e15, "2,000,000,000,000,000/s", "2e15"),
    ],
)
def test_a_rate_has_three_digits_in_a_sentence_and_at_most_six_cells_in_a_column(
    per_s: float | None, sentence: str, cell: str
) -> None:
    assert quantities.rate(per_s) == sentence
    assert quantities.rate_cell(per_s) == cell


@pytest.mark.parametrize(("chosen", "sentence"), [(Units(), "p95 1,240 ms exceeds 1,000 ms"), (AUTO, "p95 1.24 s exceeds 1 s")])
def test_the_figures_of_a_stop_rule_have_their_units(chosen: Units, sentence: str) -> None:
    units.choose(chosen)
    assert wording.stop_rule("p95_ms", 1_240.0, 1_000.0) == f"stop rule: {sentence}"
    assert wording.stop_rule("failure_ratio", 0.62, 0.5) == "stop rule: failure ratio 0.62 exceeds 0.5"


@pytest.mark.parametrize(
    ("chosen", "cells"),
    [
        (Units(), ("p95 ms", "980.0", "1,210", "+230.0")),
        (SECONDS, ("p95 s", "0.9800", "1.21", "+0.2300")),
        (AUTO, ("p95 s", "0.9800", "1.21", "+0.2300")),
    ],
)
def test_a_row_of_a_comparison_has_one_unit(chosen: Units, cells: tuple[str, ...]) -> None:
    units.choose(chosen)
    row = difference("p95", Estimate(980.0, 1.0), Estimate(1_210.0, 1.0))
    assert (sentences.heading(row), sentences.before(row), sentences.after(row), sentences.change(row)) == cells


def test_an_offered_rate_keeps_the_digits_that_distinguish_levels() -> None:
    rates_per_s = (4.5, 80.0, 141.42, 12_345.6)
    assert [quantities.offered_rate(each) for each in rates_per_s] == ["4.5/s", "80/s", "141.4/s", "12,346/s"]


def test_html_and_markdown_reports_have_the_chosen_units_and_json_and_csv_do_not_change() -> None:
    events = list(read(SAMPLE))
    with_default_units = {name: FORMATS[name].of_log(events, name) for name in ("json", "csv")}
    units.choose(Units(bytes="decimal", latencies="s"))
    html, markdown = (FORMATS[name].to_text(events).decode() for name in ("html", "md"))
    assert '"names":["B","kB","MB","GB","TB"]' in html
    assert "<small>MB</small>" in html
    assert '"latencies":[["s",1000.0]]' in html
    assert "<small>ms</small>" not in html
    assert "<small>s</small>" in html
    other_units = re.compile(r"\d (ms|[KMG]iB)|\bp95 ms")
    assert other_units.search(html) is None
    assert other_units.search(markdown) is None
    assert {name: FORMATS[name].of_log(events, name) for name in with_default_units} == with_default_units


def test_a_command_uses_the_units_of_the_configuration_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(configuration.VARIABLE, str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text('byte_units = "decimal"\nlatency_units = "auto"\n')
    assert cli.run(["export", str(SAMPLE), "--format", "md"]) == 0
    markdown = capsys.readouterr().out
    assert units.current() == Units("decimal", "auto")
    assert "GiB" not in markdown
    assert "p95 ms" not in markdown
