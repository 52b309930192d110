"""What a sweep found with one setting of the target's parameters."""

from __future__ import annotations

from typing import Literal

from .readings import Reading
from .verdicts import Confidence, KneeVerdict, RateCapacity

SettingEnd = Literal["done", "gave_up", "budget", "stop_rule", "failed", "taken_over"]
"""Why the search with a setting ended: it finished, or gave up; its time was spent; a limit of `[stop]` was exceeded; the target
did not start, or died; a person took the load over."""

Params = dict[str, str | int | float | bool]
"""Parameters of the target by name."""


def typed(value: str | int | float | bool) -> str:
    """A parameter's value as a person types it."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}" if isinstance(value, float) else str(value)


def setting_name(params: Params) -> str:
    """`threads=4 pool=2`. May contain text of a person."""
    return " ".join(f"{name}={typed(value)}" for name, value in params.items())


class SettingResult(Reading, frozen=True, kw_only=True):
    """The result of one setting. None: not measured."""

    params: Params
    """The parameters that the sweep changes."""
    session: str
    """Id of the session in which it was explored."""
    epoch: int
    ended: SettingEnd | None = None
    """None: its search has not ended; the session may have."""
    why: str = ""
    """Of a target that failed, the reason that it gave; of a search that gave up, the id of the reason. Data from a target:
    escape before display."""
    knee: KneeVerdict | None = None
    rates: RateCapacity | None = None
    """The verdict on users, or that on offered rates; the other one is None."""
    per_s: float | None = None
    """The capacity: the greatest goodput. If `is_least`, the greatest that was measured without reaching it."""
    se_per_s: float | None = None
    is_least: bool = False
    p95_ms: float | None = None
    """p95 at the load nearest to the knee; by offered rates that from plan, at the highest rate that was served in full."""
    p95_at: float | None = None
    """That load: users, or iterations a second."""
    limit: str | None = None
    """Id of the bottleneck that a mark names."""
    invalid: str | None = None
    """Id of the cause by which generator, host or network failed, so that only levels without it describe the service."""
    levels: int = 0
    """Settled levels."""
    disturbed_levels: int = 0
    """Those in which other processes used CPU that service or generator needed."""
    is_disturbed: bool = False
    """Whether other processes disturbed a level at its limit, so that no difference to other settings is claimed."""
    are_others_busy: bool = False
    """Whether they had a share of a saturated machine there, although its levels count."""
    seconds: float = 0.0
    """From its first load to its end."""

    @property
    def has_verdict(self) -> bool:
        """Whether its search has ended with a capacity, or with a bound of it."""
        return self.ended not in (None, "failed", "taken_over") and (self.knee is not None or self.rates is not None)

    @property
    def is_contradicted(self) -> bool:
        """Whether later levels contradict the verdict, so that it is compared with none."""
        if self.knee is not None and self.knee.verification is not None:
            return self.knee.verification.state == "contradicted"
        return self.rates is not None and self.rates.contradicted

    @property
    def confidence(self) -> Confidence | None:
        """Of the verdict."""
        found = self.knee or self.rates
        return found.confidence if found is not None else None
