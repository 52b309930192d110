"""The readings of a watched part in one tick, in the structs used for target and host, so that the same rules and panes apply."""

from __future__ import annotations

from .readings import HostReading, NeighboursReading, Reading, TargetReading


class PartReading(Reading, frozen=True, kw_only=True):
    """One part in one tick. Readings are None in a tick without a new one: none is counted twice."""

    name: str
    age_s: float | None = None
    """Age of the latest reading at the end of the tick; None: there has been none yet."""
    target: TargetReading | None = None
    """Its processes; None also if only the machine is watched."""
    host: HostReading | None = None
    """Its machine."""
    neighbours: NeighboursReading | None = None
    """Other processes on its machine, the reader included."""
    server: dict[str, float] = {}
    """The server's own figures, by name, if a URL was given for them."""
    reader_cpu_ratio: float | None = None
    """Cores that the reader used."""

    @property
    def is_new(self) -> bool:
        """Whether a reading was taken since the last tick."""
        return self.host is not None or bool(self.server)

    @property
    def is_watched(self) -> bool:
        """Whether its latest reading is recent. A reader that uses much CPU reads less often than once a second."""
        return self.age_s is not None and self.age_s < LATE_S


LATE_S = 3.0
"""The latest reading is stale from this age on; normally one comes each second."""

LOST_S = 5.0
"""The part is marked as not read from this age on."""
