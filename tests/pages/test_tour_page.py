"""docs/tour.md is generated from a list of stops (moments of the sample sessions), and each stop has a picture."""

from __future__ import annotations

from docs import tour


def test_the_tour_page_is_what_its_generator_makes() -> None:
    assert (tour.DOCS / "tour.md").read_text(encoding="utf-8") == tour.page(), "run `make pictures`"


def test_each_stop_has_one_picture_and_there_are_no_others() -> None:
    assert {path.stem for path in tour.FOLDER.iterdir()} == {stop.name for stop in tour.stops()}
