"""Go: the handlers of net/http/pprof, where the service has them.

wall: the stacks of all goroutines, 20 times a second; this needs no setting of the service. cpu: its CPU profile. blocked: its
mutex and block profiles, which are empty unless the service sets their rates. The handlers end with their connection.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlsplit

import httpcore

from .. import native_http
from ..model.stacks import Clock, Frame, SampledStacks
from .folding import NotSampled, Sampler
from .runtimes import listens_at

SNAPSHOTS_PER_S = 20

_MOST_BYTES = 64 << 20
_ANSWERS_WITHIN_S = 2.0
_TOOL = "net/http/pprof"
_NOT_THERE = "the Go service has no /debug/pprof at {where}: import net/http/pprof, and serve it on a port of its own"


class GoStacks:
    """Looks for the handlers at once. `sampled` waits for the end."""

    def __init__(self, pids: Iterable[int], seconds: float, url: str) -> None:
        """Raises NotSampled: no handlers are there."""
        self._pids, self._seconds = tuple(pids), max(1, round(seconds))
        self._base = _handlers_at(self._pids, url)

    def sampled(self) -> list[SampledStacks]:
        """One for each clock. Raises NotSampled."""
        tasks: dict[Clock, list[Callable[[], list[_Seen]]]] = {
            "wall": [self._goroutines],
            "cpu": [lambda: self._profile("profile")],
            "blocked": [lambda: self._profile("mutex"), lambda: self._profile("block")],
        }
        with ThreadPoolExecutor(4) as threads:
            asked = {clock: [threads.submit(each) for each in each_clock] for clock, each_clock in tasks.items()}
        try:
            found = {clock: [seen for each in each_clock for seen in each.result()] for clock, each_clock in asked.items()}
        except (OSError, httpcore.ProtocolError, httpcore.NetworkError, ValueError, zlib.error, EOFError) as error:
            raise NotSampled(f"{self._base}/debug/pprof stopped answering: {type(error).__name__} {error}".rstrip()) from error
        own = _Own(call[1] for seen in found.values() for calls, _ in seen for call in calls if call[0] == "runtime.main")
        return [
            Sampler("go", clock, _TOOL, self._pids, float(self._seconds)).sampled(
                (tuple(Frame(*call, own.has(*call)) for call in calls), seconds)
                for calls, seconds in seen
                if not _is_of_handlers(calls)
            )
            for clock, seen in found.items()
            if seen or clock != "blocked"
        ]

    def _goroutines(self) -> list[_Seen]:
        """Snapshots as text, which are read after the last one: reading costs more than the service's answer."""
        url, began_s, texts, pause = f"{self._base}/debug/pprof/goroutine?debug=1", monotonic(), list[str](), Event()
        while (left_s := began_s + self._seconds - monotonic()) > 0:
            texts.append(_body(url, self._seconds + _ANSWERS_WITHIN_S).decode("utf-8", "replace"))
            next_s = began_s + len(texts) / SNAPSHOTS_PER_S
            pause.wait(min(left_s, max(0.0, next_s - monotonic())))
        return [(calls, count * self._seconds / len(texts)) for text in texts for calls, count in _goroutines_of(text)]

    def _profile(self, kind: str) -> list[_Seen]:
        data = _body(f"{self._base}/debug/pprof/{kind}?seconds={self._seconds}", 3.0 * self._seconds + 10.0)
        return list(_seen_in(gzip.decompress(data)))


_Call = tuple[str, str, int]
"""Function, file, line."""

_Seen = tuple[tuple[_Call, ...], float]
"""Calls, the outermost first, and thread seconds."""


def _handlers_at(pids: Iterable[int], url: str) -> str:
    """The base URL of net/http/pprof. Raises NotSampled."""
    given = urlsplit(url)
    host = "127.0.0.1" if given.hostname == "localhost" else given.hostname
    at = ([f"{host}:{given.port or 80}"] if given.scheme == "http" and host else []) + list(listens_at(pids))
    for each in dict.fromkeys(at):
        with suppress(OSError, ValueError, httpcore.ProtocolError, httpcore.NetworkError):
            if b"goroutine" in _body(f"http://{each}/debug/pprof/", _ANSWERS_WITHIN_S):
                return f"http://{each}"
    raise NotSampled(_NOT_THERE.format(where=" or ".join(dict.fromkeys(at)) or "any port"))


def _body(url: str, timeout_s: float) -> bytes:
    with native_http.get(url, timeout_s=timeout_s, most_bytes=_MOST_BYTES) as answer:
        body = b"".join(answer.body)
        if answer.status != 200:
            raise ValueError(f"{answer.status} for {url}: {body[:100].decode('utf-8', 'replace')}")
        return body


def _is_of_handlers(calls: tuple[_Call, ...]) -> bool:
    return any(name.startswith(("runtime/pprof.", "net/http/pprof.")) for name, _, _ in calls)


# -- whose code ----------------------------------------------------------------------------------------------------------------


class _Own:
    """Which code is the service's: neither of Go's own tree nor of a module that it depends on."""

    def __init__(self, files_of_runtime: Iterable[str]) -> None:
        """`files_of_runtime`: of the function that begins every program."""
        self._tree = next((file.removesuffix("runtime/proc.go") for file in files_of_runtime if file.startswith("/")), None)

    def has(self, function: str, file: str, line: int) -> bool:
        """With `-trimpath` no path is absolute: a file of Go's tree begins with a package without a dot."""
        if not file or "/pkg/mod/" in file or "/vendor/" in file or "@" in file or file.startswith("_"):
            return False
        if file.startswith("/"):
            return not file.startswith(self._tree) if self._tree else "/go/src/" not in file
        return function.startswith("main.") or "." in file.partition("/")[0]


# -- text of goroutines --------------------------------------------------------------------------------------------------------

_COUNT = re.compile(r"(\d+) @")
_CALL = re.compile(r"^#\t0x[0-9a-f]+\t(\S+?)\+0x[0-9a-f]+\s+(\S+):(\d+)$", re.MULTILINE)


def _goroutines_of(text: str) -> Iterator[tuple[tuple[_Call, ...], int]]:
    """(calls, goroutines that are there) of `debug=1`."""
    for block in text.split("\n\n"):
        counted = _COUNT.search(block)
        calls = tuple((name, file, int(line)) for name, file, line in reversed(_CALL.findall(block)))
        if counted is not None and calls:
            yield calls, int(counted[1])


# -- pprof's protobuf ----------------------------------------------------------------------------------------------------------
# github.com/google/pprof/proto/profile.proto; its four messages need no library.


class _Field(NamedTuple):
    number: int
    value: int | bytes


def _fields(data: bytes) -> Iterator[_Field]:
    """The fields of a message. Raises ValueError."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield _Field(key >> 3, value)
            case 2:
                size, at = _varint(data, at)
                yield _Field(key >> 3, data[at : at + size])
                at += size
            case kind:
                at += {1: 8, 5: 4}.get(kind, 0)
                if kind not in (1, 5):
                    raise ValueError(f"no profile: a field of type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(number, where the next begins)."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("no profile: it ends within a number")


def _numbers(fields: Iterable[_Field], number: int) -> list[int]:
    """A repeated field, packed or not."""
    found: list[int] = []
    for each in fields:
        if each.number == number and isinstance(each.value, int):
            found.append(each.value)
        elif each.number == number and isinstance(each.value, bytes):
            at = 0
            while at < len(each.value):
                value, at = _varint(each.value, at)
                found.append(value)
    return found


def _number(fields: Iterable[_Field], number: int) -> int:
    return next(iter(_numbers(fields, number)), 0)


def _seen_in(data: bytes) -> Iterator[_Seen]:
    """The stacks of a profile whose last value of each sample is in nanoseconds, as those of Go are."""
    whole = list(_fields(data))

    def messages(number: int) -> Iterator[list[_Field]]:
        return (list(_fields(each.value)) for each in whole if each.number == number and isinstance(each.value, bytes))

    texts = [each.value.decode("utf-8", "replace") for each in whole if each.number == 6 and isinstance(each.value, bytes)]
    functions = {_number(each, 1): (texts[_number(each, 2)], texts[_number(each, 4)]) for each in messages(5)}
    locations: dict[int, list[_Call]] = {}
    for location in messages(4):
        lines = [list(_fields(each.value)) for each in location if each.number == 4 and isinstance(each.value, bytes)]
        locations[_number(location, 1)] = [(*functions[_number(line, 1)], _number(line, 2)) for line in lines]
    for sample in messages(2):
        leaf_first = [call for location in _numbers(sample, 1) for call in locations[location]]
        yield tuple(reversed(leaf_first)), _numbers(sample, 2)[-1] / 1e9
