"""Valid and invalid replies: the results of the lean client and of the other clients."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from capexplorer.analysis.causes.classify import classify
from capexplorer.model.events import FailureSignature

from ..patched import Played, play
from .cases import CASES
from .wire import wire


@pytest.fixture(scope="module")
def seen() -> Played:
    with wire() as running:
        return play("load.scenes.replies", url=running.url)


def outcome(found: Any) -> tuple[int, str] | str:
    """As `Case.expected`."""
    if isinstance(found, dict):
        return classify(msgspec.convert(found, FailureSignature), "Linux")
    status, text = found
    return status, text


@pytest.mark.parametrize("client", ["http_user", "fast_http_user", "lean_http_user"])
@pytest.mark.parametrize("name", CASES)
def test_a_reply_is_accepted_as_http_defines_or_fails_with_its_cause(seen: Played, name: str, client: str) -> None:
    case = CASES[name]
    assert outcome(seen[client][name][0]) == case.others.get(client, case.expected)


@pytest.mark.parametrize("name", CASES)
def test_a_connection_is_used_again_only_if_no_bytes_are_left_on_it(seen: Played, name: str) -> None:
    assert seen["lean_http_user"][name][1] == CASES[name].kept


@pytest.mark.parametrize("name", CASES)
def test_a_reply_is_the_same_wherever_it_is_cut(seen: Played, name: str) -> None:
    assert seen["every_cut"][name] == []
