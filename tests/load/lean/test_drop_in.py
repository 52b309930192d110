"""LeanHttpUser in the place of FastHttpUser and HttpUser: user code sees the same, or is refused in one line."""

from __future__ import annotations

import pytest

from ..patched import Played, play
from ..servers import self_signed, server
from .echo import echo


@pytest.fixture(scope="module")
def seen() -> Played:
    with echo() as echo_url, server(self_signed()) as with_tls:
        return play("load.scenes.drop_in", echo=echo_url, tls=with_tls.url)


@pytest.mark.parametrize(("locusts", "lean"), [("fast_http_user", "lean_for_fast"), ("http_user", "lean_for_http")])
def test_user_code_sees_the_same_as_with_the_class_of_locust(seen: Played, locusts: str, lean: str) -> None:
    expected = seen[locusts]
    assert [name for name, value in expected.items() if isinstance(value, str) and "Traceback" in value] == []
    assert {name: (value, seen[lean][name]) for name, value in expected.items() if seen[lean][name] != value} == {}


def test_what_a_lean_client_does_not_do_is_refused_with_its_place(seen: Played) -> None:
    for name, (line, raised, text) in seen["refusals"].items():
        assert raised == "LeanRefusal", name
        assert text.startswith(f"drop_in.py:{line}: LeanHttpUser does not take `{name.split()[0]}`, "), text
        assert "\n" not in text
