"""Every format of export: the same bytes each time, its contents, hostile text is inert, and unmeasured values stay empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.errors import InputError
from capexplorer.model.columns import WRITTEN
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import FORMATS
from capexplorer.report.formats import csv as csv_report

from .exported_sessions import HEADER, export_files, session, to_disk

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "hgrm"])
def test_a_session_without_a_level_can_be_exported(form: str, tmp_path: Path) -> None:
    assert export_files(form, [HEADER], tmp_path / "a")


def test_hgrm_of_a_session_without_latencies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no distribution"):
        to_disk("hgrm", [HEADER], tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("form", ["hgrm", "locust-csv"])
def test_formats_of_several_files_are_refused_on_stdout(form: str) -> None:
    with pytest.raises(InputError, match="name a folder with -o"):
        FORMATS[form].to_text(session())


def test_csv_into_a_path_with_a_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="-o names a folder"):
        to_disk("csv", session(), tmp_path / "levels.csv")


def test_formats_that_need_the_log_are_refused_from_a_timeline(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="export the saved session"):
        FORMATS["locust-csv"].of_timeline(Timeline(session()), "x")


def test_every_csv_column_and_every_format_is_documented() -> None:
    documented = (ROOT / "docs" / "exports.md").read_text()
    for column in (*csv_report.LEVEL_COLUMNS, *csv_report.ENDPOINT_COLUMNS, *WRITTEN):
        assert f"`{column}`" in documented, column
    for form in FORMATS:
        assert f"`{form}`" in documented, form


# -- sessions that are not complete


# -- the client class
