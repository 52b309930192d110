"""The tables of exit codes have those of the code, and answers lead to those that docs/requirements.md names."""

from __future__ import annotations

import pytest

from capexplorer.errors import ExitCode
from capexplorer.model.requirements import State
from capexplorer.run.run_outcome import RunOutcome

from .page_tables import table_rows


def coded(page: str) -> dict[int, str]:
    """The words of each exit code on a page."""
    return {int(code): words for code, words, *_ in table_rows(page) if code.isdecimal()}


def test_every_exit_code_is_in_the_table_of_commands() -> None:
    assert [*coded("docs/commands.md")] == [*ExitCode]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (["met", "met"], "all met"),
        (["met", "undecided", "not_met"], "at least one not met"),
        (["met", "undecided"], "none not met, at least one undecided"),
    ],
)
def test_answers_lead_to_the_exit_code_on_their_page(states: list[State], words: str) -> None:
    outcome = RunOutcome(lambda: None)
    outcome.answer(states)
    assert coded("docs/requirements.md")[outcome.exit_code] == words
    outcome.interrupt("SIGTERM")
    assert outcome.exit_code == 143, "a signal comes first"
