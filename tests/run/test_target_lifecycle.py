"""The states of the target if starts and restarts overlap, whose threads end in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from capexplorer import wording
from capexplorer.errors import TargetError
from capexplorer.load import native
from capexplorer.model.controls import Param
from capexplorer.model.events import Event, Target, TargetFacts
from capexplorer.run.service import Service, TargetLifecycle
from capexplorer.target.supervisor import Exited

from .bare_context import VirtualPump, bare_context


class FakeService:
    """A service with a spec and a process. Its start fails if the parameter `superseded` is set."""

    spec = object()
    has_build = False
    has_containers = False
    pid = 1
    is_unseen = False
    facts = TargetFacts(name="shop", url="")
    url = "http://127.0.0.1:1"
    version: str | None = None

    def __init__(self) -> None:
        self.params: dict[str, Param] = {}

    def bring_up(self, params: Mapping[str, Param], on_waiting: Callable[[str], None]) -> None:
        """Return at once: the test decides when the thread that calls this runs."""
        if params.get("slow"):
            on_waiting("GET /up: status 404")
        if params.get("superseded"):
            raise TargetError("ended before it was ready (SIGTERM)")

    def find_pid(self) -> int:
        return self.pid


class LifecycleHarness:
    """A target lifecycle. Its threads wait in `threads`, its calls to the pump in `posted`; a test runs them in any order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[Callable[[], None]] = []
        self.pump, self.ready_count = VirtualPump(waits=True), 0
        self.pump.seconds = 1.0
        self._context = bare_context(self.pump)
        self.outcome, self.why_unreachable = self._context.outcome, list[str | None]()
        monkeypatch.setattr(native, "start_thread", self.threads.append)
        self.service = FakeService()
        self.target = TargetLifecycle(self._context, cast(Service, self.service), self._reach, self._ready)

    def _reach(self) -> str | None:
        return self.why_unreachable.pop(0)

    def _ready(self) -> None:
        self.ready_count += 1

    def states(self) -> list[str]:
        return [event.state for event in self.events if isinstance(event, Target)]

    @property
    def events(self) -> list[Event]:
        return list(self._context.timeline.journal)

    def run_posted(self) -> None:
        """Run all calls that were posted to the pump."""
        self.pump.run_posted()


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> LifecycleHarness:
    return LifecycleHarness(monkeypatch)


def test_the_failure_of_a_superseded_start_does_not_fail_the_restart(harness: LifecycleHarness) -> None:
    """The run once ended because the failure of the first start was reported as that of the second."""
    harness.target.restart({"superseded": True})
    harness.target.restart({"superseded": False})
    first, second = harness.threads
    first()
    harness.run_posted()
    second()
    harness.run_posted()
    assert harness.states() == ["starting", "stopping", "starting", "ready"]
    assert (harness.outcome.failure, harness.ready_count) == (None, 1)


def test_a_superseded_start_that_becomes_ready_does_not_make_the_restart_ready(harness: LifecycleHarness) -> None:
    harness.target.restart({"threads": 4})
    harness.threads[0]()
    harness.target.restart({"threads": 8})
    harness.run_posted()
    assert (harness.states()[-1], harness.ready_count) == ("starting", 0)
    harness.threads[1]()
    harness.run_posted()
    assert (harness.states()[-1], harness.ready_count) == ("ready", 1)


def test_for_an_experiment_the_target_has_other_parameters_in_the_same_epoch_and_then_its_own(harness: LifecycleHarness) -> None:
    harness.target.restart({"threads": 4, "pool": 2})
    harness.target.restart_with({"pool": 3})
    harness.target.restart_with({})
    started = [each for each in harness.events if isinstance(each, Target) and each.state == "starting"]
    assert [each.params for each in started] == [{"threads": 4, "pool": 2}, {"threads": 4, "pool": 3}, {"threads": 4, "pool": 2}]
    assert {each.epoch for each in started} == {1}
    assert harness.service.params == {"threads": 4, "pool": 2}, "what a person changes of them is added to these"


def test_a_start_that_fails_with_the_parameters_of_an_experiment_is_no_failure_of_the_run(harness: LifecycleHarness) -> None:
    harness.target.restart_with({"superseded": True})
    harness.threads[0]()
    harness.run_posted()
    assert (harness.states()[-1], harness.outcome.failure) == ("failed", None)
    harness.target.restart({"superseded": True})
    harness.threads[1]()
    harness.run_posted()
    assert harness.outcome.failure is not None


def test_what_a_slow_start_waits_for_is_reported_until_it_is_ready_or_superseded(harness: LifecycleHarness) -> None:
    harness.target.restart({"slow": True})
    harness.threads[0]()
    harness.run_posted()
    assert [(event.state, event.reason) for event in harness.events if isinstance(event, Target)] == [
        ("starting", None), ("starting", "GET /up: status 404"), ("ready", None)
    ]  # fmt: skip
    harness.target.restart({"slow": True})
    harness.threads[1]()
    harness.target.restart({"slow": False})
    harness.run_posted()
    assert harness.states()[-3:] == ["starting", "stopping", "starting"], "the first restart's wait is not reported"


def test_the_ready_state_of_a_service_whose_process_is_not_seen_says_so(harness: LifecycleHarness) -> None:
    harness.service.is_unseen = True
    harness.target.restart({})
    harness.threads[0]()
    harness.run_posted()
    assert [event.reason for event in harness.events if isinstance(event, Target)] == [None, wording.UNSEEN_SERVICE]


def test_the_death_of_a_container_is_reported_with_its_last_line_of_output(harness: LifecycleHarness) -> None:
    """The process that starts the containers ends with code 1 in all cases, so that its exit code has no information."""
    harness.service.has_containers = True
    harness.target.restart({})
    harness.threads[0]()
    harness.run_posted()
    harness.target.on_report(Exited(1, code=1, output=("store | no space left", "store: exited with code 3", "")))
    assert harness.outcome.failure is not None
    assert harness.outcome.failure.error == "shop: the target died: store: exited with code 3"
