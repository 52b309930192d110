"""Each stop of docs/tour.md, a moment of a sample session, has a picture."""

from __future__ import annotations

from docs import tour


def test_each_stop_has_one_picture_and_there_are_no_others() -> None:
    assert {path.stem for path in tour.FOLDER.iterdir()} == {stop.name for stop in tour.stops()}
