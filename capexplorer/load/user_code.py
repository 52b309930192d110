"""Exceptions of user code, counted wherever they are raised: in tasks, waits, `on_start`, shapes, or greenlets that it starts
itself."""

from __future__ import annotations

import inspect
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from gevent import GreenletExit, getcurrent
from gevent.hub import Hub

from ..model import outside
from .children import LoadLoop

KEPT = 10_000

STOPPED, CUSTOM_EVENT = "StopUser", "CustomEvent"
"""`UserError.type` of what is no exception that user code has failed to handle."""

_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    str(Path(__file__).parents[1]),
)
"""Folders of what is not user code."""
_COUNTED = "counted_by_capexplorer"
"""Attribute that marks exceptions as counted: Locust reports them first, and then they end the user's greenlet."""


@dataclass(frozen=True, slots=True)
class UserError:
    """An exception in user code, or one of the types below."""

    type: str
    text: str
    line: str
    """`FILE:LINE in FUNCTION` of the innermost frame; empty where there is none."""


class UserCodeFault(RuntimeError):
    """A fault of user code that raised no exception, such as one that does not return; it has no line in the code."""


class UserErrors:
    """Filled in the load thread; others take from `waiting`."""

    def __init__(self) -> None:
        self.waiting: deque[UserError] = deque(maxlen=KEPT)

    def add(self, error: BaseException, tb: TracebackType | None = None) -> None:
        """Count one exception."""
        tb = tb or error.__traceback__
        while tb is not None and tb.tb_next is not None:
            tb = tb.tb_next
        line = place(tb.tb_frame, tb.tb_lineno) if tb is not None and not isinstance(error, UserCodeFault) else ""
        self.waiting.append(UserError(type(error).__name__, _text(error), line))

    def on_user_error(self, exception: BaseException, tb: TracebackType | None = None, **_: Any) -> None:
        """Listener of Locust's user_error event; Locust may raise the same exception again, through the user's greenlet."""
        self.add(exception, tb)
        exception.__dict__[_COUNTED] = True

    def on_death(self, error: BaseException, tb: TracebackType | None) -> None:
        """`error` ended a greenlet of user code: count it, unless `on_user_error` did.

        An error that was raised while a counted one was handled does not count again.
        """
        known = [each for each in (error, error.__context__) if each is not None and each.__dict__.pop(_COUNTED, False)]
        if not known:
            self.add(error, tb)

    def on_stopped(self, error: Exception) -> None:
        """User code ended its user."""
        getcurrent().has_stopped = True
        self.add(error)
        self.waiting[-1] = replace(self.waiting[-1], type=STOPPED)

    def on_custom_event(self, event: str) -> None:
        """User code, which runs now, has fired a request event that has no request of its own."""
        self.waiting.append(UserError(CUSTOM_EVENT, event[:200], place_in_user_code(inspect.currentframe())))

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A context for user code: its exceptions are counted and suppressed; gevent may still end the greenlet."""
        try:
            yield
        except GreenletExit:
            raise
        except BaseException as error:  # noqa: BLE001 - the boundary of user code: sys.exit is no way to end the load thread
            self.add(error)


def place(frame: FrameType, line: int) -> str:
    """`FILE:LINE in FUNCTION`."""
    return outside.text(f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{line} in {frame.f_code.co_name}")


def place_in_user_code(frame: FrameType | None) -> str:
    """`FILE:LINE in FUNCTION` of the innermost frame that is not of a library, from this one outwards; empty if there is none."""
    while frame is not None and frame.f_code.co_filename.startswith((*_LIBRARIES, "<")):
        frame = frame.f_back
    return place(frame, frame.f_lineno) if frame is not None else ""


def _text(error: BaseException) -> str:
    try:
        return outside.text(str(error), 200)
    except Exception:  # str() of a user's exception may fail
        return ""


class LoadHub(Hub):  # type: ignore[misc]
    """The load thread's hub. `sys.exit` or KeyboardInterrupt in a task ends plain Locust; here it ends that greenlet alone."""

    def __init__(self, errors: UserErrors, is_user: Callable[[object], bool]) -> None:
        super().__init__(LoadLoop())
        self._errors, self._is_user = errors, is_user

    def handle_error(self, context: Any, type: Any, value: Any, tb: Any) -> None:  # noqa: A002 - gevent's signature
        """gevent calls this for what a greenlet or a callback of the loop raised and that was not caught."""
        type, value, tb = self._normalize_exception(type, value, tb)  # noqa: A001
        ends_gevent = issubclass(type, self.SYSTEM_ERROR)
        if context is None or not isinstance(value, BaseException):
            super().handle_error(context, type, value, tb)
            return
        if self._is_user(context) or not issubclass(type, (Exception, GreenletExit)):
            self._errors.on_death(value, tb)
        if ends_gevent:
            self.print_exception(context, type, value, tb)
        else:
            super().handle_error(context, type, value, tb)
