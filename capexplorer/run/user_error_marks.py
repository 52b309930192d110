"""The mark on exceptions in user code, by which users end, so that there is less load than requested.

Its revisions are paced like those of all causes. Analysis of a log cannot find it: samples contain the exceptions of requests,
but not those of the user code around them.
"""

from __future__ import annotations

from ..analysis.causes.episode import Episode
from ..analysis.causes.occurrence import Occurrence
from ..load.load_host import LoadHost
from ..model.events import Mark
from ..model.load import Load


class UserErrorMarks:
    """Call `mark` once a tick."""

    def __init__(self) -> None:
        self._episode = Episode("cause:user_code_error", "user_code_error", 0, "error")

    def mark(self, host: LoadHost, t_s: float, epoch: int, load: Load, *, all_changes: bool = False) -> Mark | None:
        """The mark to emit now, if any. `all_changes`: at the end, without pacing.

        Users that ended by themselves (StopUser) are replaced without a mark.
        """
        for error in [host.errors.waiting.popleft() for _ in range(len(host.errors.waiting))]:
            text = f"{error.type}: {error.text}" + (f" ({error.line})" if error.line else "")
            self._episode.occurred(Occurrence(t_s=t_s, load=load, example=text))
        self._episode.epoch = epoch
        self._episode.note({"users_replaced": host.replaced})
        self._episode.close_if_over(t_s, load)
        return self._episode.revision_to_publish(t_s, all_changes=all_changes)
