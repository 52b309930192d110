"""The marks on exceptions that user code raises outside of requests: errors of the code, by which users end, so that there is
less load than requested, and errors of the system, as sockets of its own raise them; and the mark on values from outside that
cannot be recorded.

Their revisions are paced like those of all causes. Analysis of a log cannot find them: samples contain the exceptions of
requests, but not those of the user code around them, and lack values that are no numbers.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator

from ..analysis.causes.catalogue import ENTRIES, RAISED, USER_CODE
from ..analysis.causes.classify import NAME_ERRORS, classify
from ..analysis.causes.episode import Episode
from ..analysis.causes.occurrence import Occurrence
from ..load.load_thread import LoadThread
from ..load.user_code import CUSTOM_EVENT, STOPPED, UserError
from ..model.events import FailureSignature, Mark
from ..model.load import Load

_OF_USER_CODE = {STOPPED: "users_stopped", CUSTOM_EVENT: "custom_events"}
"""Causes of what user code does without an exception that it has failed to handle."""

_ERRNO = re.compile(r"\[Errno (-?\d+)\]")


UNUSABLE_VALUES = "unusable_values"

EXAMPLE_MOST = 200
"""Characters of a value's name in the mark."""


class UserErrorMarks:
    """Call `marks` once a tick."""

    def __init__(self) -> None:
        self._episodes = {USER_CODE: Episode(f"cause:{USER_CODE}", USER_CODE, 0, ENTRIES[USER_CODE].severity)}

    def marks(self, load_thread: LoadThread, t_s: float, epoch: int, load: Load, *, all_changes: bool = False) -> Iterator[Mark]:
        """The marks to emit now. `all_changes`: at the end, without pacing."""
        for error in [load_thread.errors.waiting.popleft() for _ in range(len(load_thread.errors.waiting))]:
            is_event = error.type == CUSTOM_EVENT
            text = ": ".join(filter(None, ("" if is_event else error.type, error.text)))
            text += f" ({error.line})" if error.line else ""
            endpoint = error.text if is_event else ""
            self._episode(cause_of(error)).occurred(Occurrence(t_s=t_s, load=load, endpoint=endpoint, example=text))
        for episode in self._episodes.values():
            episode.epoch = epoch
            if episode.id == USER_CODE:
                episode.note({"users_replaced": load_thread.replaced})
            episode.close_if_over(t_s, load)
            revision = episode.revision_to_publish(t_s, all_changes=all_changes)
            if revision is not None:
                yield revision

    def _episode(self, cause: str) -> Episode:
        found = self._episodes.get(cause)
        if found is None:
            key = f"cause:{cause}" if cause in _OF_USER_CODE.values() else f"cause:{cause}{RAISED}"
            found = self._episodes[cause] = Episode(key, cause, 0, ENTRIES[cause].severity)
        return found


class UnusableValueMarks:
    """Call `marks` once a tick."""

    def __init__(self) -> None:
        self._episode = Episode(f"cause:{UNUSABLE_VALUES}", UNUSABLE_VALUES, 0, ENTRIES[UNUSABLE_VALUES].severity)

    def marks(self, values: Iterable[str], t_s: float, epoch: int, load: Load, *, all_changes: bool = False) -> Iterator[Mark]:
        """The mark to emit now, if any. `values`: names of those of this tick. `all_changes`: at the end, without pacing."""
        for name in values:
            self._episode.occurred(Occurrence(t_s=t_s, load=load, example=name[:EXAMPLE_MOST]))
        self._episode.epoch = epoch
        self._episode.close_if_over(t_s, load)
        revision = self._episode.revision_to_publish(t_s, all_changes=all_changes)
        if revision is not None:
            yield revision


def cause_of(error: UserError) -> str:
    """The cause that a failed request with this exception indicates, if the system or the resolver raised it; else the code."""
    if error.type in _OF_USER_CODE:
        return _OF_USER_CODE[error.type]
    errno = _ERRNO.match(error.text)
    if errno is None and error.type not in NAME_ERRORS:
        return USER_CODE
    signature = FailureSignature(types=(error.type,), errno=int(errno[1]) if errno else None, text=error.text)
    found = classify(signature, platform.system())
    return found if found in ENTRIES and found != "unknown" else USER_CODE
