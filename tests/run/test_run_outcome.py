"""Why a run ends, and with which exit code."""

from __future__ import annotations

from capexplorer.run.run_outcome import RunOutcome


def test_the_first_of_several_signals_is_the_reason_and_the_exit_code() -> None:
    outcome = RunOutcome(lambda: None)
    outcome.interrupt("SIGHUP")
    outcome.interrupt("SIGINT")
    assert (outcome.reason, outcome.exit_code) == ("ended by SIGHUP", 129)


def test_a_failure_has_precedence_over_the_exit_code_of_the_locustfile_until_it_recovers() -> None:
    outcome = RunOutcome(lambda: None)
    outcome.want_exit_code(7)
    outcome.fail("log", "no space left", 4)
    assert (outcome.reason, outcome.exit_code) == ("no space left", 4)
    outcome.recover("log")
    assert (outcome.reason, outcome.exit_code) == (None, 7)
