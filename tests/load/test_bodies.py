"""Replies of any size use a bounded amount of memory; a body over the bound fails with its own error."""

from __future__ import annotations

import pytest

from capexplorer.analysis.causes.classify import classify
from capexplorer.model.events import FailureSignature

from .patched import Played, play
from .servers import server

pytestmark = pytest.mark.slow

PATHS = ("/bomb", "/bomb?deflate", "/bomb?br", "/endless")


@pytest.fixture(scope="module")
def seen() -> Played:
    with server() as running:
        return play("load.scenes.large", url=running.url)


@pytest.mark.parametrize("path", [*PATHS, *(f"{path} checked" for path in PATHS)])
@pytest.mark.parametrize("client", ["http_user", "fast_http_user", "lean_http_user"])
def test_a_body_over_the_bound_has_its_own_failure_type(seen: Played, client: str, path: str) -> None:
    assert seen[client][path] == [["BodyTooLarge"], "body larger than # MB"]
    assert classify(FailureSignature(types=("BodyTooLarge",)), "Linux") == "body_too_large"


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("http_user", "got more than # bytes when reading header line"),
        ("fast_http_user", "head larger than # bytes"),
        ("lean_http_user", "head larger than # bytes"),
    ],
)
def test_a_head_over_the_bound_is_a_failure_before_it_is_read_to_its_end(seen: Played, client: str, text: str) -> None:
    assert seen[client]["/huge-head"][1] == text


@pytest.mark.parametrize("client", ["http_user", "fast_http_user", "lean_http_user"])
def test_the_client_continues_after_a_body_over_the_bound(seen: Played, client: str) -> None:
    assert seen[client]["/ok"] == 2


def test_memory_stays_bounded_with_bodies_over_the_bound(seen: Played) -> None:
    """A body of 16 MB in two copies, and the process itself."""
    assert seen["peak_mb"] < 200


def test_a_body_that_is_read_in_parts_has_no_bound(seen: Played) -> None:
    assert [read > 20_000_000 for read in seen["streamed"]] == [True, True]
