"""Bytes on the screen and in reports, in powers of 1024 or of 1000; what programs read does not depend on the choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import cli, configuration
from capexplorer.report import figures, formats
from capexplorer.session.reader import read
from capexplorer.tui.render import text
from capexplorer.wording import byte_units, numbers

SAMPLE = Path(__file__).resolve().parents[2] / "sessions" / "sample-taskqueue.jsonl"


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_units, "_chosen", "decimal")


@pytest.mark.parametrize(
    ("value", "binary", "decimal"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (1_000, "0.98 KiB", "1.00 kB"),
        (1_023_000, "999 KiB", "1.02 MB"),
        (34_100_000, "32.5 MiB", "34.1 MB"),
        (25_200_000_000, "23.5 GiB", "25.2 GB"),
        (-34_100_000, "-32.5 MiB", "-34.1 MB"),
        (5 * 10**15, "4,547 TiB", "5,000 TB"),
    ],
)
def test_bytes_have_at_most_three_digits_before_the_point(
    value: float, binary: str, decimal: str, request: pytest.FixtureRequest
) -> None:
    assert text.size(value) == binary
    request.getfixturevalue("chosen")
    assert text.size(value) == decimal


def test_all_forms_of_a_size_have_the_same_unit(chosen: None) -> None:
    assert (text.size(34_100_000), text.short_size(34_100_000)) == ("34.1 MB", "34.1M")
    assert (figures.size(34_100_000), numbers.size(34_100_000)) == ("34.1 MB", "34.1 MB")
    assert text.size(1_000_000, largest=25_200_000_000) == "0.00 GB"


def test_reports_have_the_chosen_units_and_json_and_csv_do_not(chosen: None) -> None:
    events = list(read(SAMPLE))
    page, table = (formats.to_text(name, events)[0].decode() for name in ("html", "md"))
    assert '"names":["B","kB","MB","GB","TB"]' in page and "<small>MB</small>" in page
    assert not any(unit in content for unit in ("KiB", "MiB", "GiB") for content in (page, table))
    summary = formats.to_text("json", events)[0]
    byte_units.choose("binary")
    assert formats.to_text("json", events)[0] == summary


def test_the_configuration_file_chooses_for_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(byte_units, "_chosen", "binary")
    monkeypatch.setenv(configuration.VARIABLE, str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text('byte_units = "decimal"\n')
    assert cli.run(["export", str(SAMPLE), "--format", "md"]) == 0
    assert "GiB" not in capsys.readouterr().out and text.size(34_100_000) == "34.1 MB"
