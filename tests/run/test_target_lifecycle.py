"""The target's states where starts and restarts overlap: threads that block report in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from capexplorer.errors import TargetError
from capexplorer.load import native
from capexplorer.model.events import Event, Target, TargetFacts
from capexplorer.model.param import Param
from capexplorer.run.run_outcome import RunOutcome
from capexplorer.run.service import Service
from capexplorer.run.target_lifecycle import TargetLifecycle
from capexplorer.target.reports import Exited


class SlowService:
    """Has a spec and a process, and takes as long to start as a test wants."""

    spec = object()
    has_build = False
    has_containers = False
    pid = 1
    facts = TargetFacts(name="shop", url="")
    url = "http://127.0.0.1:1"
    params: dict[str, Param] = {}

    def bring_up(self, params: Mapping[str, Param]) -> None:
        """What it would block for is decided by the test, which runs the thread's body."""
        if params.get("superseded"):
            raise TargetError("ended before it was ready (SIGTERM)")

    def find_pid(self) -> int:
        return self.pid


class Rig:
    """Bodies of threads wait in `bodies`, calls for the pump in `posted`; a test runs them in the order it wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bodies: list[Callable[[], None]] = []
        self.posted: list[Callable[[], None]] = []
        self.events: list[Event] = []
        self.readied = 0
        self.outcome = RunOutcome()
        monkeypatch.setattr(native, "start_thread", self.bodies.append)
        self.target = TargetLifecycle(
            cast(Service, SlowService()), self.outcome, post=self.posted.append, emit=self.events.append, now_s=lambda: 1.0,
            on_ready=self._ready,
        )  # fmt: skip

    def _ready(self) -> None:
        self.readied += 1

    def states(self) -> list[str]:
        return [event.state for event in self.events if isinstance(event, Target)]

    def pump(self) -> None:
        """Run what was posted."""
        while self.posted:
            self.posted.pop(0)()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(monkeypatch)


def test_a_restart_while_the_target_starts_is_not_failed_by_the_earlier_start(rig: Rig) -> None:
    """The first start's failure was taken for the second's: the run ended, and the second was never ready."""
    rig.target.restart({"superseded": True})
    rig.target.restart({"superseded": False})
    first, second = rig.bodies
    first()
    rig.pump()
    second()
    rig.pump()
    assert rig.states() == ["starting", "stopping", "starting", "ready"]
    assert (rig.outcome.failure, rig.readied) == (None, 1)


def test_a_start_that_got_ready_as_it_was_restarted_is_not_taken_for_the_next_one(rig: Rig) -> None:
    rig.target.restart({"threads": 4})
    rig.bodies[0]()
    rig.target.restart({"threads": 8})
    rig.pump()
    assert (rig.states()[-1], rig.readied) == ("starting", 0)
    rig.bodies[1]()
    rig.pump()
    assert (rig.states()[-1], rig.readied) == ("ready", 1)


def test_containers_that_die_are_reported_with_the_line_that_says_which_and_why(rig: Rig) -> None:
    """Their first process ends with code 1 whatever happened to them."""
    service = cast(SlowService, rig.target.service)
    service.has_containers = True
    rig.target.restart({})
    rig.bodies[0]()
    rig.pump()
    rig.target.on_report(Exited(1, code=1, output=("store | no space left", "store: exited with code 3", "")))
    assert rig.outcome.failure is not None
    assert rig.outcome.failure.error == "shop: the target died: store: exited with code 3"
