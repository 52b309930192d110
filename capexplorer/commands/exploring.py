"""What `run` does: on the live screen, without one, or in the background."""

from __future__ import annotations

import sys

from .. import namespace
from ..errors import InputError
from ..model.limits import LEAST_GENERATOR_OPEN_FILES
from ..remote import run_sockets
from ..run.options import RunOptions
from .screen_options import ScreenOptions
from .terminals import require_screen

_LEAST_ADDRESS_SPACE_BYTES = 512 << 20
"""A run has 80 MB in memory, and reserves 740 MB of addresses where it may. With 450 MB runs worked; with 400 and 300 MB some
ended because a thread could not be started."""


def explore(options: RunOptions, screen: ScreenOptions, *, headless: bool, detach: bool = False) -> int:
    """Run until the user, the plan, a signal or a failure ends it. Returns the exit code."""
    driven = options.steps or options.autopilot
    if headless and not driven and not (options.locustfile and options.follow_shape):
        raise InputError("--headless: needs --plan or --autopilot (or a locustfile with a shape)")
    if detach and not driven and not options.profile.guards.unattended_s:
        raise InputError("--detach: needs --plan or --autopilot, or [guards] unattended_s above 0: else it would end at once")
    if (screen.baseline is not None or screen.mouse) and (headless or detach):
        raise InputError(f"{'--baseline' if screen.baseline is not None else '--mouse'}: needs the live screen")
    if not headless and not detach:
        require_screen("the live screen", "run --headless --plan ... or run --detach")
    _check_open_files(options.profile.limits.generator.open_files)
    _check_memory()
    if detach and (why := run_sockets.why_none()):
        raise InputError(f"--detach: no screen could be attached to the run, and `stop` could not end it: {why}")
    if detach:
        from .detaching import detached

        return detached(options, _enter_network)
    _enter_network(options)
    if headless:
        from .headless import explore_headless

        return explore_headless(options)
    from .on_screen import explore_on_screen

    return explore_on_screen(options, screen)


def _enter_network(options: RunOptions) -> None:
    """Enter the session's own network namespace, if it has one. Must precede imports that start threads."""
    namespace.enter(options.profile.limits.network, sandbox=options.sandbox)


def _check_open_files(wanted: int | None) -> None:
    """Refuse a run with too few file descriptors, which could not report its failures. `wanted`: the session's own limit."""
    if wanted is not None or sys.platform == "win32":
        return  # the profile checks its lower bound
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < LEAST_GENERATOR_OPEN_FILES:
        needed = f"a run needs {LEAST_GENERATOR_OPEN_FILES}, plus one for each user's connection"
        raise InputError(f"open files: the hard limit here is {hard} (ulimit -Hn), {needed}")


def _check_memory() -> None:
    """Refuse a run in too small an address space, where a thread or an import would fail at any place."""
    if sys.platform == "win32":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESS_SPACE_BYTES:
        needed = f"a run needs {_LEAST_ADDRESS_SPACE_BYTES >> 10}"
        raise InputError(f"virtual memory: the limit here is {limit >> 10} kB (ulimit -v), {needed}")
