"""Experiments at a knee: what one changes for a level, what it showed, and which causes of the limit that leaves.

The level of an experiment has `LevelOpened.experiment`, and is in no curve. `analysis.experiments` judges it.
"""

from __future__ import annotations

from typing import Literal

from .readings import Reading
from .sweep import Params

ExperimentName = Literal["as_before", "half_pauses", "alone", "without", "path", "few_users", "reconnect", "slots"]
"""What is changed, at one number of users beyond the knee but for `few_users`:

- `as_before`: nothing. The others are compared with it.
- `half_pauses`: users wait half as long between tasks.
- `alone`, `without`: users request only one endpoint, or all but this one.
- `path`: users request only the path that says that the service is ready.
- `few_users`: so few run that hardly any request waits: it shows responses at low load of a service that is warm.
- `reconnect`: users close their connections after each task.
- `slots`: the target is restarted with another number of workers, threads, connections or other slots, for this level.
"""


class Experiment(Reading, frozen=True, kw_only=True):
    """One change."""

    name: ExperimentName
    endpoint: str | None = None
    """Of `alone`, `without` and `path`: `METHOD name`. Data of the profile: escape before display."""
    param: str | None = None
    before: int | None = None
    after: int | None = None
    """Of `slots`: the target's parameter, and its value before and in the experiment."""

    @property
    def pause_ratio(self) -> float:
        """What the users' waits are multiplied with."""
        return 0.5 if self.name == "half_pauses" else 1.0

    @property
    def params(self) -> Params:
        """What is changed of the target's parameters, for which it is restarted before and after; empty: nothing."""
        return {self.param: self.after} if self.param is not None and self.after is not None else {}


AS_BEFORE = Experiment(name="as_before")

LimitCause = Literal["lock", "pool", "rate_limit", "queue", "cpu", "link", "generator"]
"""What may limit goodput. `lock`: one request at a time; `pool`: several at a time, by a number of workers, threads, connections
or other slots; `rate_limit`: requests a second, whatever they do; `queue`: workers that are held by open connections; the others
are resources."""

Result = Literal["more", "same", "less", "unclear"]
"""Goodput beside that of the level as before: clearly more or less, equal within a tenth, or neither is known."""

Reason = Literal[
    "served_more",
    "counts_work",
    "faster_than_its_rate",
    "one_at_a_time",
    "slots_matter",
    "slots_do_not_matter",
    "connections_hold",
    "connections_do_not_hold",
    "readings",
]
"""Why causes are ruled out, or one is confirmed (`analysis.experiments`)."""


class Outcome(Reading, frozen=True, kw_only=True):
    """What the level of one experiment showed."""

    experiment: Experiment
    level: int
    """Index of the level."""
    result: Result
    goodput_rps: float
    ratio: float
    ratio_low: float
    ratio_high: float
    """Goodput divided by that of the level as before, with its 95% interval."""


class Inference(Reading, frozen=True, kw_only=True):
    """What outcomes rule out or confirm."""

    reason: Reason
    levels: tuple[int, ...]
    """Indices of the levels that show it."""
    excludes: tuple[LimitCause, ...] = ()
    supports: LimitCause | None = None
    endpoint: str | None = None
    param: str | None = None
    value: float | None = None
    """The figure of the reason: requests at a time, or the ratio of goodputs."""


class Explanation(Reading, frozen=True, kw_only=True):
    """What the experiments of an epoch have shown."""

    users: int
    """Users of all experiments."""
    causes: tuple[LimitCause, ...]
    """What the limit may be without them."""
    outcomes: tuple[Outcome, ...] = ()
    inferences: tuple[Inference, ...] = ()
    left: tuple[LimitCause, ...] = ()
    """Causes that nothing rules out."""
    confirmed: LimitCause | None = None
    """The only one that is left, if something supports it."""
    unsteady: bool = False
    """Whether the service changed between the experiments, or was not at its limit: then nothing is confirmed or ruled out."""
