"""docs/tour.md is made from its stops and the samples, and has a picture of each."""

from __future__ import annotations

from docs import tour


def test_the_page_is_what_the_stops_and_the_samples_make() -> None:
    assert (tour.DOCS / "tour.md").read_text(encoding="utf-8") == tour.page(), "run `make pictures`"


def test_each_stop_has_its_picture_and_no_other_is_there() -> None:
    assert {path.stem for path in tour.FOLDER.iterdir()} == {stop.name for stop in tour.stops()}
