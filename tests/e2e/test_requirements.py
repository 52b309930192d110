"""A headless run decides what is required of the profile `mixed`, says so on stderr, in its exit code and in its export."""

from __future__ import annotations

from pathlib import Path

import pytest

from .rig import export, run_to_end_unsuspended

pytestmark = pytest.mark.slow

REQUIRED = {"failures <= 50% @ 6 users": "met", "p50 <= 0.01ms @ 6 users": "not_met"}


def test_a_run_ends_once_all_is_decided(tmp_path: Path) -> None:
    asked = [word for text in REQUIRED for word in ("--require", text)]
    run, code = run_to_end_unsuspended(tmp_path, "mixed", "--headless", *asked)
    assert code == 3, run.stderr
    assert [line for line in run.stderr.splitlines() if line.startswith("required: ")] == [
        line for line in run.stderr.splitlines()[-2:]
    ], "one line for each, the last ones"
    exported = export(run.sessions)
    assert {each["required"]: each["state"] for each in exported["requirements"]} == REQUIRED
    assert {level["users"] for level in exported["levels"]} == {6}
