"""A fake of the controls by which a screen sets the load of a run."""

from __future__ import annotations

from msgspec.structs import replace

from capexplorer.model.controls import ChangeWorkers, Control, RestartTarget, SetSpawnRate, Setup, StartPlan, State, expected
from capexplorer.model.load import Users


class FakeControls:
    """Controls that record all they do in `calls` and keep the state that is expected after it."""

    def __init__(self, wanted: int = 1, max_users: int = 2_000, *, unattended_s: float = 0.0) -> None:
        plans = {"report": "10:3m,50:3m", "short": "10:20s,50:20s"}
        self.setup = Setup(max_users=max_users, can_restart=True, plans=plans, unattended_s=unattended_s)
        self.state = State(load=Users(wanted), target_params={"server": "waitress", "threads": 8, "keep_alive": True})
        self.calls: list[Control] = []

    def change(self, **state: object) -> None:
        """Change the state otherwise than by a control."""
        self.state = replace(self.state, **state)

    def do(self, control: Control) -> str | None:
        match control:
            case StartPlan(plan) if plan not in self.setup.plans and ":" not in plan:
                return f"plan: expected USERS:DURATION like 10:30s, got {plan!r}"
            case ChangeWorkers(add=False) if not self.state.workers:
                return "there is no worker: users run in this process"
            case RestartTarget(params) if not params.get("threads", "1").isdigit():
                return f"threads: expected a whole number, got {params['threads']}"
            case ChangeWorkers(add):
                self.change(workers=self.state.workers + (1 if add else -1))
            case SetSpawnRate(rate):
                self.change(spawn_rate=rate)
        self.state = expected(self.state, control)
        self.calls.append(control)
        return None
