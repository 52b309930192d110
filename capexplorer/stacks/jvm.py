"""The JVM: thread dumps over its attach socket, 20 times a second, as `jcmd PID Thread.print` asks for them once.

wall: the stacks of all threads of each dump. cpu: the CPU time of these threads (`cpu=` in a dump, since Java 11), divided among
the stacks that were runnable in no call that waits. No recording of Flight Recorder is begun, which would stay if this process is
killed; the socket /tmp/.java_pidN is the JVM's own, and stays as after any use of jcmd. Killed within 50 ms before it is there,
the process leaves the empty /tmp/.attach_pidN. Virtual threads are in no such dump.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from time import monotonic
from typing import NamedTuple

from ..model.stacks import Frame, SampledStacks
from .folding import NotSampled, Sampler
from .runtimes import catches

DUMPS_PER_S = 20

_TOOL = "thread dumps"
_ATTACHES_WITHIN_S = 5.0
_ANSWERS_WITHIN_S = 10.0


class JvmStacks:
    """`sampled` takes the seconds."""

    def __init__(self, pids: Iterable[int], seconds: float) -> None:
        self._pids, self._seconds = tuple(pids), seconds

    def sampled(self) -> list[SampledStacks]:
        """One for each clock. Raises NotSampled."""
        with ThreadPoolExecutor(len(self._pids)) as threads:
            dumps = list(threads.map(self._dumps, self._pids))
        wall = [(thread.frames, self._seconds / len(each)) for each in dumps for dump in each for thread in dump]
        runnable = [thread.frames for each in dumps for dump in each for thread in dump if thread.is_runnable]
        cpu_s = sum(_cpu_s(each) for each in dumps)
        samplers = {clock: Sampler("jvm", clock, _TOOL, self._pids, self._seconds) for clock in ("wall", "cpu")}
        found = [samplers["wall"].sampled(wall)]
        if runnable and cpu_s:
            found.append(samplers["cpu"].sampled((frames, cpu_s / len(runnable)) for frames in runnable))
        return found

    def _dumps(self, pid: int) -> list[list[_Thread]]:
        """At least one. Raises NotSampled."""
        path, texts, pause, began_s = _socket_of(pid), list[str](), Event(), monotonic()
        while (left_s := began_s + self._seconds - monotonic()) > 0:
            texts.append(_dump(pid, path))
            pause.wait(min(left_s, max(0.0, began_s + len(texts) / DUMPS_PER_S - monotonic())))
        frames: dict[str, tuple[Frame, ...]] = {}
        return [list(_threads_of(text, frames)) for text in texts]


def _socket_of(pid: int) -> Path:
    """The JVM's attach socket. A JVM opens it when it finds a file of this name at SIGQUIT. Raises NotSampled."""
    try:
        own = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        folder, name = Path(f"/proc/{pid}/root/tmp"), own[1] if own else str(pid)
        path, wish = folder / f".java_pid{name}", folder / f".attach_pid{name}"
        if path.exists():
            return path
        if not catches(pid, signal.SIGQUIT):
            raise NotSampled(f"the JVM {pid} runs with -Xrs, or starts, so that it would end at SIGQUIT")
        wish.touch()
        try:
            owner = Path(f"/proc/{pid}").stat()
            os.chown(wish, owner.st_uid, owner.st_gid)
            os.kill(pid, signal.SIGQUIT)
            pause, until_s = Event(), monotonic() + _ATTACHES_WITHIN_S
            while not path.exists() and monotonic() < until_s:
                pause.wait(0.02)
        finally:
            wish.unlink(missing_ok=True)
    except OSError as error:
        raise NotSampled(f"the JVM {pid} cannot be reached: {error.strerror or error}") from error
    if not path.exists():
        raise NotSampled(f"the JVM {pid} opens no attach socket, as with -XX:+DisableAttachMechanism")
    return path


def _dump(pid: int, path: Path) -> str:
    """Raises NotSampled."""
    try:
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
            connection.settimeout(_ANSWERS_WITHIN_S)
            connection.connect(str(path))
            connection.sendall(b"1\0threaddump\0\0\0\0")  # version, command, three arguments
            pieces = list(iter(lambda: connection.recv(1 << 16), b""))
    except OSError as error:
        raise NotSampled(f"the JVM {pid} stopped answering: {error.strerror or error}") from error
    result, _, text = b"".join(pieces).decode("utf-8", "replace").partition("\n")
    if result != "0":
        raise NotSampled(f"the JVM {pid} refused a thread dump: {(result + ' ' + text[:100]).strip() or 'another user'}")
    return text


# -- text of a dump ------------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r'"(?P<name>.*)" .*?(?:cpu=(?P<cpu_ms>[\d.]+)ms .*?)?tid=(?P<id>0x[0-9a-f]+)')
_CALL = re.compile(r"^\tat ([^(\n]+)\((?:([\w.]+@[^/\n]*)/|app//)?([^:)\n]+)(?::(\d+))?\)", re.MULTILINE)

_LIBRARIES = (
    "java.", "javax.", "jakarta.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "clojure.",
    "org.springframework.", "org.apache.", "org.eclipse.", "org.hibernate.", "org.postgresql.", "org.jboss.", "org.wildfly.",
    "io.netty.", "io.vertx.", "io.undertow.", "io.quarkus.", "io.micronaut.", "io.grpc.", "io.micrometer.", "reactor.", "akka.",
    "com.google.", "com.zaxxer.", "com.fasterxml.", "com.mysql.", "okhttp3.", "redis.clients.", "ch.qos.", "org.slf4j.",
)  # fmt: skip
"""Packages that are no service's own. A dump names the module of a class only for those of the JDK, and no archive."""

_WAITING = re.compile(r"\.(accept|connect|poll|epollWait|wait\w*|read|write|recv|receive|park|select\w*)[0-9]?$")
"""The last call of a thread that waits in a call of the system, which Java calls runnable, too."""


class _Thread(NamedTuple):
    id: str
    cpu_ms: float | None
    is_runnable: bool
    frames: tuple[Frame, ...]


def _threads_of(text: str, known: dict[str, tuple[Frame, ...]]) -> Iterator[_Thread]:
    """The threads that have Java stacks. `known`: frames by their text, which most dumps share."""
    for block in text.split("\n\n"):
        head, _, calls = block.strip().partition("\n")
        found = _HEAD.match(head)
        if found is None or "\tat " not in calls:
            continue
        if calls not in known:
            known[calls] = tuple(_frame(*each) for each in reversed(_CALL.findall(calls)))
        frames = known[calls]
        waits = "Native Method" in calls.partition("\tat ")[2].partition("\n")[0] and _WAITING.search(frames[-1].function)
        is_runnable = "State: RUNNABLE" in calls and not waits
        yield _Thread(found["id"], float(found["cpu_ms"]) if found["cpu_ms"] else None, is_runnable, frames)


def _frame(function: str, module: str, file: str, line: str) -> Frame:
    is_own = not module and not function.startswith(_LIBRARIES)
    return Frame(function, "" if file in ("Native Method", "Unknown Source", "<generated>") else file, int(line or 0), is_own)


def _cpu_s(dumps: list[list[_Thread]]) -> float:
    """The CPU time of all its threads between the first and the last dump in which each was seen."""
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for dump in dumps:
        for thread in dump:
            if thread.cpu_ms is not None:
                first.setdefault(thread.id, thread.cpu_ms)
                last[thread.id] = thread.cpu_ms
    return sum(last[each] - first[each] for each in last) / 1000.0
