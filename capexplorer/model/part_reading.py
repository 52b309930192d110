"""The readings of one watched part in one tick. Same structs as for target and host, so that the same rules and panes apply."""

from __future__ import annotations

from .readings import HostReading, NeighboursReading, Reading, TargetReading


class PartReading(Reading, frozen=True, kw_only=True):
    """One part. Figures are None in a tick without a new reading: no figure is ever shown twice."""

    name: str
    age_s: float | None = None
    """How long ago, at the end of the tick, the latest reading was taken. None: there has been none yet."""
    target: TargetReading | None = None
    """Its processes. None also where the machine alone is watched."""
    host: HostReading | None = None
    """The machine that it runs on."""
    neighbours: NeighboursReading | None = None
    """Other processes of that machine, the reader among them."""
    server: dict[str, float] = {}
    """The server's own figures, where they were asked for."""
    reader_cpu_ratio: float | None = None
    """Cores that the reader used."""

    @property
    def is_new(self) -> bool:
        """Whether a reading was taken since the last tick."""
        return self.host is not None or bool(self.server)

    @property
    def is_watched(self) -> bool:
        """Whether its latest reading is recent. A reader that costs much reads less often."""
        return self.age_s is not None and self.age_s < LATE_S


LATE_S = 3.0
"""Age of the latest reading from which a part is stale. A reading comes each second."""

LOST_S = 5.0
"""Age from which it is marked as not read."""
