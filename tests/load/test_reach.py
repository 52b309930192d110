"""Whether a running service can be reached from the load thread: real servers."""

from __future__ import annotations

import pytest

from .patched import Played, play
from .servers import closed_port, self_signed, server


@pytest.fixture(scope="module")
def seen() -> Played:
    with server() as plain, server(self_signed()) as with_tls:
        urls = {name: f"{plain.url}/{name}" for name in ("200", "401", "404", "503", "hang", "garbage", "silence", "reset")}
        closed = f"127.0.0.1:{closed_port()}"
        urls |= {"tls": with_tls.url, "https to http": plain.url.replace("http", "https"), "tcp": f"{plain.url}/garbage"}
        return play(
            "load.scenes.reached", urls={**urls, "a closed port": f"http://{closed}", "tcp to a closed port": f"http://{closed}"}
        )


@pytest.mark.parametrize("kind", ["200", "401", "404", "503", "tls", "hang", "tcp"])
def test_a_service_that_answers_anything_is_reachable(seen: Played, kind: str) -> None:
    assert seen["asked"][kind] is None


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("a closed port", "connection refused"),
        ("tcp to a closed port", "connection refused"),
        ("reset", "connection reset by peer"),
        ("garbage", "no HTTP answer"),
        ("silence", "no HTTP answer"),
        ("https to http", "no TLS (wrong version number)"),
    ],
)
def test_an_unreachable_service_has_a_reason_of_a_few_words(seen: Played, kind: str, why: str) -> None:
    assert seen["asked"][kind] == why
