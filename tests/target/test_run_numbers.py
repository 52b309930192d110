"""Reports and commands refer to runs by number, so each run needs a number of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from capexplorer.target.supervisor import Supervisor

from .target_rig import Rig


@pytest.fixture
def supervisor(rig: Rig) -> Iterator[Supervisor]:
    yield rig.supervisor


def test_a_run_keeps_its_number_when_another_thread_starts_one_meanwhile(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that got the number of the target could not be stopped."""
    sent: list[int] = []
    other: list[int] = []

    def send(command: dict[str, Any]) -> bool:
        sent.append(command["run"])
        if len(sent) == 1:
            other.append(supervisor.start_auxiliary(["true"], {}, lambda report: None))
        return True

    monkeypatch.setattr(supervisor, "_send", send)
    assert supervisor.start_auxiliary(["true"], {}, lambda report: None) == sent[0]
    assert other == [sent[1]] != [sent[0]]
