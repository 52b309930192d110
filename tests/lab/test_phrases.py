"""The linter of sentences finds its phrases in running text."""

from __future__ import annotations

import pytest

from lab.phrases import problems


@pytest.mark.parametrize(
    "text",
    [
        "cause: connections are reset (high confidence), over",
        "nothing is said about the service beyond 74",
        "the session holds 1 users",
        "Errors are\n    told in one line.",
    ],
)
def test_a_phrase_of_the_list_is_found(text: str) -> None:
    assert list(problems(text))


@pytest.mark.parametrize("text", ["11 users", "1,001 users", "p95 is over 1,000 at 50 users", "a mean is over the ticks"])
def test_plain_text_has_no_problem(text: str) -> None:
    assert list(problems(text)) == []
