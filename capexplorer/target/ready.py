"""Waits until a started target is ready, or reports why it cannot become ready. Sends one small request at a time to loopback.

Runs in a native thread of a process that gevent may have patched: so requests go by `native_http`, and `sleep` is a parameter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from ..errors import TargetError
from ..model import outside
from .spec import TargetSpec
from .supervisor import Exited, Supervisor

# -- build ---------------------------------------------------------------------------------------------------------------------
# Waits for a target's build and reports why it failed. Runs in a native thread, as the wait for readiness does.


_INTERVAL_S = 0.05


def wait_until_built(supervisor: Supervisor, run: int, spec: TargetSpec, *, sleep: Callable[[float], None]) -> None:
    """Wait until this run of the target's build has ended; `Supervisor.listen` must have been called.

    Raises TargetError, with its last output lines: it failed, was stopped, or took longer than `build.timeout_s`.
    """
    assert spec.build is not None
    timeout_s = spec.build.timeout_s
    deadline_s = monotonic() + timeout_s
    while (ended := supervisor.exited(run)) is None:
        if monotonic() >= deadline_s:
            supervisor.stop()
            reason = f"not built after {timeout_s:g} s (build.timeout_s in {spec.path})"
            raise TargetError(f"{spec.name}: {reason}", supervisor.output)
        sleep(_INTERVAL_S)
    if ended.stopped:
        raise TargetError(f"{spec.name}: the build was stopped", ended.output)
    if ended.code != 0:
        last = f": {ended.last_line}" if ended.last_line else ""
        raise TargetError(f"{spec.name}: the build failed ({ended.how_it_ended()}){last}", ended.output)


_START_TIMEOUT_S = 30.0
"""Far longer than the grace period of the previous run: reached only when a process cannot be killed (uninterruptible wait)."""

SILENT_S = 3.0
"""Seconds from the start after which a target that is not ready is reported: a wrong path would be a long silence."""

_REQUEST_TIMEOUT_S = 2.0
_MOST_BYTES = 1 << 16
"""Of a response's headers and the beginning of its body, which is not read to its end."""

_VERSION_MOST = 100
"""Characters of a version that an answer names."""

_IN_USE = ("address already in use", "address in use", "connection in use", "eaddrinuse", "only one usage of each socket address")
"""What servers print when they cannot bind: Python, werkzeug, gunicorn and Go, Node, Windows."""


def wait_until_ready(
    supervisor: Supervisor,
    run: int,
    spec: TargetSpec,
    port: int,
    *,
    sleep: Callable[[float], None],
    on_waiting: Callable[[str], None] = lambda why: None,
) -> str | None:
    """Send requests until the target is ready; `Supervisor.listen` must have been called. Returns the version that its answer
    names (`ReadinessAnswer`); None: it names none.

    `on_waiting`: called after SILENT_S, and again at each change, with why it is not ready: `GET /health: status 404`.
    Blocks at most until the previous run has ended, then for `ready.timeout_s` and one request.
    Raises TargetError, with the last output lines: it ended first, or was not ready in time.
    """
    _wait_until_started(supervisor, run, spec, sleep)
    began_s, reported = monotonic(), ""
    while True:
        why_not_ready, version = _asked(spec, port)
        ended = supervisor.exited(run)  # after the request, since another process may have answered on that port
        if ended is not None:
            raise TargetError(_why_it_ended(spec, port, ended), ended.output)
        if why_not_ready is None:
            return version
        if monotonic() - began_s >= spec.ready.timeout_s:
            reason = f"not ready after {spec.ready.timeout_s:g} s: {_request(spec, f'127.0.0.1:{port}')}: {why_not_ready}"
            raise TargetError(f"{spec.name}: {reason}", supervisor.output)
        if why_not_ready != reported and monotonic() - began_s >= SILENT_S:
            reported = why_not_ready
            on_waiting(why_not_ready if spec.compose else f"{_request(spec)}: {why_not_ready}")
        sleep(_INTERVAL_S)


def _wait_until_started(supervisor: Supervisor, run: int, spec: TargetSpec, sleep: Callable[[float], None]) -> None:
    """Wait for the run's start: until then the previous run may still answer on the same port."""
    began_s = monotonic()
    while not (supervisor.runs(run) or supervisor.exited(run)):
        if monotonic() - began_s >= _START_TIMEOUT_S:
            raise TargetError(f"{spec.name}: not started after {_START_TIMEOUT_S:g} s: the previous run does not end")
        sleep(_INTERVAL_S)


def _why_it_ended(spec: TargetSpec, port: int, ended: Exited) -> str:
    bind_error = next((line for line in reversed(ended.output) if any(text in line.lower() for text in _IN_USE)), None)
    if bind_error is not None:
        return f"{spec.name}: cannot bind 127.0.0.1:{port}: {bind_error.strip()}"
    last = f": {ended.last_line}" if ended.last_line else ""
    if spec.compose and last:
        return f"{spec.name}{last}"
    return f"{spec.name}: ended before it was ready ({ended.how_it_ended()}){last}"


def _request(spec: TargetSpec, place: str = "") -> str:
    """What it is asked, in words; `place`: HOST:PORT."""
    if spec.ready.tcp:
        return f"tcp {place}".strip()
    return f"GET {f'http://{place}' if place else ''}{spec.ready.path}"


def _asked(spec: TargetSpec, port: int) -> tuple[str | None, str | None]:
    """Send one request: (what was wrong with the answer; None if the target is ready, the version that it names)."""
    if spec.compose and not spec.containers_file.exists():
        return "its services are not all well yet", None
    timeout_s = min(_REQUEST_TIMEOUT_S, spec.ready.timeout_s)
    try:
        if spec.ready.tcp:
            from .. import native_http

            native_http.connect(port, timeout_s=timeout_s)
            return None, None
        status, version = answer(port, spec.ready.path, timeout_s=timeout_s)
    except TimeoutError:
        return "no answer", None
    except OSError as error:
        return (error.strerror or str(error)).lower(), None
    if status is None:
        return "not an HTTP answer", None
    is_ready = spec.ready.any_status or 200 <= status < 400
    return (None, version) if is_ready else (f"status {status}", None)


class ReadinessAnswer(NamedTuple):
    """What a service answers to a readiness request."""

    status: int | None
    """None: it is not HTTP."""
    version: str | None = None
    """The header `X-Version`, else `version` in a body that is a JSON object; None: neither."""


def answer(port: int, path: str, *, timeout_s: float) -> ReadinessAnswer:
    """GET from loopback. Raises OSError; TimeoutError after `timeout_s`.

    Only the headers are awaited, and a body of JSON with a length: a service that streams, or keeps the connection open, is
    ready, too.
    """
    from httpcore import ProtocolError  # imported here, while the target starts, it does not delay the screen

    from .. import native_http

    try:
        with native_http.get(f"http://127.0.0.1:{port}{path}", timeout_s=timeout_s, most_bytes=_MOST_BYTES) as answer:
            version = answer.headers.get("x-version")
            if version is None and _is_short_json(answer.headers):
                with suppress(ProtocolError, OSError, ValueError, RecursionError):
                    found = json.loads(b"".join(answer.body))
                    version = found.get("version") if isinstance(found, dict) else None
            return ReadinessAnswer(answer.status, _shown(version))
    except ProtocolError:
        return ReadinessAnswer(None)


def _is_short_json(headers: Mapping[str, str]) -> bool:
    length = headers.get("content-length", "")
    return "json" in headers.get("content-type", "") and length.isdecimal() and len(length) <= len(str(_MOST_BYTES))


def _shown(version: object) -> str | None:
    """The version as one short line; None if it is no text or number."""
    if isinstance(version, bool) or not isinstance(version, str | int | float):
        return None
    return outside.text(" ".join(str(version).split()), _VERSION_MOST) or None
