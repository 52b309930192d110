"""A fake of the controls by which a screen sets the load of a run."""

from __future__ import annotations

from collections.abc import Mapping

from capexplorer.errors import InputError
from capexplorer.model.offered import clamped_rate
from capexplorer.model.param import Param


class FakeControls:
    """Controls that record all calls in `calls` and keep the wanted load, as the protocol requires."""

    def __init__(self, wanted: int = 1, max_users: int = 2_000, *, can_restart: bool = True) -> None:
        self.wanted, self.max_users, self.can_restart = wanted, max_users, can_restart
        self.offered_per_s: float | None = None
        self.spawn_rate: float | None = None
        self.autopilot = False
        self.workers = 0
        self.target_params: Mapping[str, Param] = {"server": "waitress", "threads": 8, "keep_alive": True}
        self.calls: list[tuple[object, ...]] = []

    def verify_knee(self) -> None:
        self.autopilot = True
        self.calls.append(("verify_knee",))

    def set_autopilot(self, on: bool, *, finds_rate: bool = False) -> None:
        self.autopilot = on
        self.calls.append(("set_autopilot", on, "rate") if finds_rate else ("set_autopilot", on))

    @property
    def plans(self) -> Mapping[str, str]:
        return {"report": "10:3m,50:3m", "short": "10:20s,50:20s"}

    def plan_wrong(self, plan: str) -> str | None:
        return None if plan in self.plans or ":" in plan else f"plan: expected USERS:DURATION like 10:30s, got {plan!r}"

    def start_plan(self, plan: str) -> None:
        self.autopilot = False
        self.calls.append(("start_plan", plan))

    def set_users(self, users: int) -> int:
        self.autopilot, self.offered_per_s = False, None
        self.wanted = min(max(users, 0), self.max_users)
        self.calls.append(("set_users", users))
        return self.wanted

    def set_rate(self, per_s: float) -> float:
        self.autopilot, self.wanted = False, 0
        self.offered_per_s = clamped_rate(per_s)
        self.calls.append(("set_rate", self.offered_per_s))
        return self.offered_per_s

    def set_step(self, step: int) -> None:
        self.calls.append(("set_step", step))

    def set_spawn_rate(self, rate: float | None) -> None:
        self.spawn_rate = rate
        self.calls.append(("set_spawn_rate", rate))

    def new_level(self) -> None:
        self.autopilot = False
        self.calls.append(("new_level",))

    def zero(self) -> None:
        self.wanted, self.autopilot = 0, False
        self.calls.append(("zero",))

    def change_workers(self, *, add: bool) -> str:
        if not add and not self.workers:
            return "there is no worker: users run in this process"
        self.workers += 1 if add else -1
        self.calls.append(("change_workers", add))
        return ""

    def watch_part(self, part: str) -> str:
        self.calls.append(("watch_part", part))
        return ""

    def note(self, text: str) -> None:
        self.calls.append(("note", text))

    def restart_target(self, params: Mapping[str, str]) -> None:
        if not params.get("threads", "1").isdigit():
            raise InputError(f"threads: expected a whole number, got {params['threads']}")
        self.calls.append(("restart_target", dict(params)))

    def quit(self) -> None:
        self.calls.append(("quit",))
