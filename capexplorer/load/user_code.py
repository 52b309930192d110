"""Exceptions of user code, counted wherever they are raised: in tasks, waits, `on_start`, shapes, or greenlets that it starts
itself."""

from __future__ import annotations

import contextlib
import os
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import msgspec
from gevent import GreenletExit, config, getcurrent
from gevent.hub import Hub
from gevent.monkey import get_original
from msgspec.structs import replace

from ..model import outside
from .protocol_codes import code_of

# -- children ------------------------------------------------------------------------------------------------------------------
# Child processes that user code starts: `subprocess`, `os.fork`, `multiprocessing` wait for them through the hub's loop.
#
# gevent's own child watchers need an event loop in the main thread, where there is none here, and they reap every child of the
# process, the supervisor included. The watchers here wait for one child each, by a pidfd, which becomes readable when its process
# ends.


POLL_S = 0.02
"""Polling interval if there is no pidfd (not Linux, or no free descriptor)."""


class ChildWatcher:
    """Implements gevent's `child` watcher: sets `rpid` and `rstatus` before it calls the callback."""

    def __init__(self, loop: Any, pid: int, ref: bool) -> None:
        """`pid` 0: the next watched child that ends."""
        self.loop, self.pid = loop, pid
        self.rpid = self.rstatus = 0
        self._ref = ref
        self._pidfd: int | None = None
        self._event: Any = None
        self._call: Callable[[], object] | None = None

    def start(self, callback: Callable[..., object], *args: Any) -> None:
        """Call `callback(*args)` in the hub once the child has ended."""
        self._call = lambda: callback(*args)
        self.loop.watched.append(self)
        if self.pid:
            self._event = self._readable() or self.loop.timer(POLL_S, POLL_S, ref=self._ref)
            self._event.start(self._look)

    def _readable(self) -> Any:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return None
        return self.loop.io(self._pidfd, 1, ref=self._ref)

    def _look(self) -> None:
        try:
            ended, status = get_original("os", "waitpid")(self.pid, os.WNOHANG)
        except ChildProcessError:  # it was reaped elsewhere: as in the standard library, its status counts as 0
            ended, status = self.pid, 0
        if ended:
            for watcher in [each for each in self.loop.watched if each.pid in (self.pid, 0)]:
                watcher.child_ended(ended, status)

    def child_ended(self, pid: int, status: int) -> None:
        """The child has ended; `status` as `os.waitpid` gives it."""
        call, self.rpid, self.rstatus = self._call, pid, status
        self.stop()
        if call is not None:
            call()

    def stop(self) -> None:
        """Stop watching: the callback is not called any more."""
        self._call = None
        with contextlib.suppress(ValueError):
            self.loop.watched.remove(self)
        if self._event is not None:
            self._event.stop()
            self._event.close()
            self._event = None
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    close = stop

    def __enter__(self) -> ChildWatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class LoadLoop(config.loop):  # type: ignore[misc]
    """gevent's event loop for a native thread, with watchers of children."""

    def __new__(cls) -> LoadLoop:
        """Not libev's default loop, which is the main thread's: its constructor is C, and takes what `__new__` gets."""
        made: LoadLoop = super().__new__(cls, default=False)
        return made

    def __init__(self) -> None:
        super().__init__(default=False)
        self.watched: list[ChildWatcher] = []

    def child(self, pid: int, trace: int = 0, ref: bool = True) -> ChildWatcher:  # noqa: ARG002 - gevent's signature
        """A watcher of one child."""
        return ChildWatcher(self, pid, ref)

    def install_sigchld(self) -> None:
        """Does not install a SIGCHLD handler: pidfds need no signal."""


KEPT = 10_000

STOPPED = "StopUser"
"""`UserError.type` of what is no exception that user code has failed to handle."""

_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    str(Path(__file__).parents[1]),
)
"""Folders of what is not user code."""
_COUNTED = "counted_by_capexplorer"
"""Attribute that marks exceptions as counted: Locust reports them first, and then they end the user's greenlet."""


class UserError(msgspec.Struct, frozen=True):
    """An exception in user code, or the end of a user by itself."""

    type: str
    text: str
    line: str
    """`FILE:LINE in FUNCTION` of the innermost frame; empty where there is none."""


class UserCodeFault(RuntimeError):
    """A fault of user code that raised no exception, such as one that does not return. `line`: where it stands, if known."""

    def __init__(self, text: str, line: str = "") -> None:
        super().__init__(text)
        self.line = line


class UserErrors:
    """Filled in the load thread; others take from `waiting`."""

    def __init__(self) -> None:
        self.waiting: deque[UserError] = deque(maxlen=KEPT)

    def add(self, error: BaseException, tb: TracebackType | None = None) -> None:
        """Count one exception."""
        tb = tb or error.__traceback__
        while tb is not None and tb.tb_next is not None:
            tb = tb.tb_next
        raised_at = place(tb.tb_frame, tb.tb_lineno) if tb is not None else ""
        line = error.line if isinstance(error, UserCodeFault) else raised_at
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
        code = code_of((error,), None)
        return outside.text(": ".join(filter(None, (code, str(error)))), 200)
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
