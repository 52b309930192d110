"""Node: V8's own CPU profiler through the inspector, which SIGUSR1 opens on loopback.

Node would leave the inspector open, so what comes first is a timer within the service that closes it 5 s after this process ends,
however it does. Killed in the 50 ms before, it leaves the inspector open.
cpu: the event loop's thread. wall: operations that libuv's threads and the network do for it, from the call that begins one to
its callback, by `async_hooks`, which are taken off again; less the share of time in which the loop computes, when no callback can
come. (Its own idle time would be less than the rest: where the machine is full, the loop waits for a core, too.)
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from ..extras import lacking
from ..model.stacks import Frame, SampledStacks
from .folding import NotSampled, Sampler
from .runtimes import catches, listens_at

if TYPE_CHECKING:
    from websockets.sync.connection import Connection

T = TypeVar("T")

INTERVAL_US = 5_000
"""Between two samples of the profiler: V8's own is 1,000, which costs a busy loop 5%."""

_TOOL = "V8 inspector"
_OPENS_WITHIN_S = 5.0
_ANSWERS_WITHIN_S = 20.0
_BEATS_EVERY_S = 1.0
_CLOSES_AFTER_S = 5.0
"""Without a beat: a busy event loop may take a second to answer one."""

_PORTS = range(9229, 9240)
"""Of inspectors that are open already: those of a cluster have one after the other."""

_MOST_BYTES = 256 << 20
_NOT_CODE = ("(root)", "(program)", "(idle)")

_BEGIN = """(() => {
  const load = process.getBuiltinModule ?? (typeof require === "function" ? require : process.mainModule.require);
  const inspector = load("inspector"), hooks = load("async_hooks"), fs = load("fs");
  const port = ":" + Number(new URL(inspector.url()).port).toString(16).toUpperCase().padStart(4, "0");
  const kinds = new Set(%(kinds)s), live = new Map(), ended = new Map();
  const end = (id) => {
    const one = live.get(id);
    if (!one) return;
    live.delete(id);
    ended.set(one.stack, (ended.get(one.stack) ?? 0) + performance.now() - one.at);
  };
  const again = new Map();
  const hook = hooks.createHook({
    init(id, type, _, resource) {
      if (!kinds.has(type)) return;
      const limit = Error.stackTraceLimit;
      Error.stackTraceLimit = 40;
      live.set(id, { at: performance.now(), stack: new Error().stack, stream: type === "ZLIB" ? resource : null });
      Error.stackTraceLimit = limit;
    },
    before(id) {
      const one = live.get(id);
      end(id);
      if (one?.stream) again.set(id, one);
    },
    after(id) {
      const one = again.get(id);
      if (one && again.delete(id) && one.stream.buffer) live.set(id, { ...one, at: performance.now() });
    },
    destroy: end,
  }).enable();
  let timer;
  const stop = () => {
    hook.disable();
    for (const id of [...live.keys()]) end(id);
    return JSON.stringify([...ended]);
  };
  const isConnected = () => {
    const sockets = fs.readFileSync("/proc/self/net/tcp", "latin1").split("\\n").map((line) => line.trim().split(/ +/));
    return sockets.some((fields) => fields[1]?.endsWith(port) && ["01", "08"].includes(fields[3]));
  };
  const closeInspector = () => {
    if (isConnected()) setTimeout(closeInspector, 100).unref();
    else inspector.close();
  };
  const close = () => {
    hook.disable();
    clearTimeout(timer);
    delete globalThis[Symbol.for("capexplorer")];
    if (%(closes)s) closeInspector();
  };
  const beat = () => {
    clearTimeout(timer);
    timer = setTimeout(close, %(after_ms)d);
    timer.unref();
  };
  beat();
  globalThis[Symbol.for("capexplorer")] = { beat, stop, close };
})()"""
"""The hook makes a stack for each operation of these kinds alone, but Node runs it for each promise. A stream of zlib begins its
next operation in the callback of the last, and then has a `buffer`.

The inspector is closed without connections (01: established, 08: ended by us): Node 20 died of `inspector.close()` while a
connection was closing, in one of 8 tries on a full machine.
"""

_KINDS = [
    "FSREQCALLBACK", "FSREQPROMISE", "PBKDF2REQUEST", "SCRYPTREQUEST", "RANDOMBYTESREQUEST", "HASHREQUEST", "SIGNREQUEST",
    "CIPHERREQUEST", "DERIVEBITSREQUEST", "KEYPAIRGENREQUEST", "ZLIB", "GETADDRINFOREQWRAP", "QUERYWRAP", "TCPCONNECTWRAP",
    "HTTPCLIENTREQUEST", "Timeout",
]  # fmt: skip
_BEAT = 'globalThis[Symbol.for("capexplorer")].beat()'
_STOP = 'globalThis[Symbol.for("capexplorer")].stop()'
_END = "setTimeout(() => process._debugEnd(), 1000)"
"""For a Node whose modules cannot be reached."""
_CLOSE = 'setTimeout(globalThis[Symbol.for("capexplorer")].close, 100)'


def why_not() -> str | None:
    """Why nothing can be sampled here."""
    return lacking("websockets") or None


class NodeStacks:
    """`sampled` takes the seconds."""

    def __init__(self, pids: Iterable[int], seconds: float) -> None:
        """Raises NotSampled: a library is not there."""
        if (reason := why_not()) is not None:
            raise NotSampled(reason)
        self._pids, self._seconds = tuple(pids), seconds

    def sampled(self) -> list[SampledStacks]:
        """One for each clock. Raises NotSampled if no process could be sampled, else the others count."""
        seen, refusals = list[tuple[int, _Cpu, _Wall]](), list[NotSampled]()
        for pid in self._pids:  # all would open the same port: one after the other, so each has its share of the seconds
            try:
                seen.append((pid, *_seen(pid, self._seconds / len(self._pids))))
            except NotSampled as error:
                refusals.append(error)
        if not seen:
            raise refusals[0]
        pids = tuple(pid for pid, _, _ in seen)
        samplers = [Sampler("node", clock, _TOOL, pids, self._seconds / len(self._pids)) for clock in ("cpu", "wall")]
        return [
            samplers[0].sampled(each for _, cpu, _ in seen for each in cpu),
            samplers[1].sampled(each for _, _, wall in seen for each in wall),
        ]


_Cpu = list[tuple[tuple[Frame, ...], float]]
_Wall = list[tuple[tuple[Frame, ...], float]]


def _seen(pid: int, seconds: float) -> tuple[_Cpu, _Wall]:
    """Raises NotSampled."""
    import websockets.exceptions

    try:
        with _inspector(pid) as inspector:
            inspector.call("Profiler.enable")
            inspector.call("Profiler.setSamplingInterval", interval=INTERVAL_US)
            inspector.call("Profiler.start")
            until_s, pause = monotonic() + seconds, Event()
            while (left_s := until_s - monotonic()) > 0:
                pause.wait(min(_BEATS_EVERY_S, left_s))
                inspector.evaluate(_BEAT)
            profile = inspector.call("Profiler.stop")["profile"]
            waits = json.loads(inspector.evaluate(_STOP) or "[]")
    except (OSError, EOFError, ValueError, KeyError, websockets.exceptions.WebSocketException) as error:
        raise NotSampled(f"the inspector of Node {pid} stopped answering: {type(error).__name__} {error}".rstrip()) from error
    cpu = list(_stacks_of(profile))
    free_ratio = max(0.0, 1 - sum(spent_s for _, spent_s in cpu) / seconds)
    return cpu, [(frames, free_ratio * ms / 1000) for text, ms in waits if (frames := tuple(_frames_of(text)))]


# -- inspector -----------------------------------------------------------------------------------------------------------------


class _Inspector:
    """Calls over one connection, one at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._number = connection, 0

    def call(self, method: str, **params: Any) -> Any:
        """The result of a method of the DevTools protocol. Raises OSError, ValueError: an error was answered."""
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": params}))
        until_s = monotonic() + _ANSWERS_WITHIN_S
        while True:
            answer = json.loads(self._connection.recv(timeout=max(0.0, until_s - monotonic())))
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise ValueError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, of its main script's view. Raises OSError; ValueError: it throws."""
        result = self.call("Runtime.evaluate", expression=expression, includeCommandLineAPI=True, returnByValue=True)
        if "exceptionDetails" in result:
            thrown = result["exceptionDetails"].get("exception", {}).get("description", "an exception")
            raise ValueError(thrown.partition("\n")[0])
        return result["result"].get("value")


@contextmanager
def _inspector(pid: int) -> Iterator[_Inspector]:
    """The inspector of a process, closed at the end unless it was open before. Raises NotSampled, OSError, ValueError."""
    from websockets.sync.client import connect

    from .. import native_http  # only here: `doctor` asks `why_not`, and imports no client

    before = listens_at([pid])
    was_open = next((each for each in before if int(each.rpartition(":")[2]) in _PORTS), None)
    at = was_open or _opened_at(pid, before)
    with native_http.get(f"http://{at}/json/list", timeout_s=_ANSWERS_WITHIN_S, most_bytes=1 << 20) as answer:
        path = urlsplit(json.loads(b"".join(answer.body))[0]["webSocketDebuggerUrl"]).path
    plain: dict[str, Any] = {"compression": None, "proxy": None, "open_timeout": _ANSWERS_WITHIN_S}
    with connect(f"ws://{at}{path}", max_size=_MOST_BYTES, **plain) as connection:
        inspector = _Inspector(connection)
        words = {"kinds": json.dumps(_KINDS), "closes": json.dumps(not was_open), "after_ms": 1000 * _CLOSES_AFTER_S}
        try:
            inspector.evaluate(_BEGIN % words)
        except ValueError:
            if not was_open:
                inspector.evaluate(_END)
            raise
        try:
            yield inspector
        finally:
            with suppress(Exception):  # the process may have ended
                inspector.evaluate(_CLOSE)
    if not was_open:
        _wait_for(lambda: at not in listens_at([pid]), _CLOSES_AFTER_S)


def _opened_at(pid: int, before: Collection[str]) -> str:
    """The address at which it listens now and did not `before`. Raises NotSampled."""
    if not catches(pid, signal.SIGUSR1):
        raise NotSampled(f"Node {pid} has its inspector disabled, or starts, so that it would end at SIGUSR1")
    try:
        os.kill(pid, signal.SIGUSR1)
    except OSError as error:
        raise NotSampled(f"Node {pid} cannot be signalled: {error.strerror}") from error
    at = _wait_for(lambda: next((each for each in listens_at([pid]) if each not in before), None), _OPENS_WITHIN_S)
    if at is None:
        raise NotSampled(f"Node {pid} opened no inspector: another process has its port, or the service uses SIGUSR1")
    return at


def _wait_for(find: Callable[[], T | None], seconds: float) -> T | None:
    """What is found first; None: nothing in this time."""
    until_s, pause = monotonic() + seconds, Event()
    while not (found := find()) and monotonic() < until_s:
        pause.wait(0.02)
    return found


# -- what it has seen ----------------------------------------------------------------------------------------------------------


def _stacks_of(profile: Mapping[str, Any]) -> Iterator[tuple[tuple[Frame, ...], float]]:
    """The stacks of a CPU profile; of the leaf, the line at which it was seen most."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", ())}
    spent_us: dict[int, float] = {}
    for leaf, delta_us in zip(profile["samples"], profile["timeDeltas"], strict=True):
        spent_us[leaf] = spent_us.get(leaf, 0.0) + max(0, delta_us)
    for leaf, us in spent_us.items():
        if nodes[leaf]["callFrame"]["functionName"] in _NOT_CODE:
            continue
        frames, at = [_leaf(nodes[leaf])], parents.get(leaf)
        while at is not None:
            if nodes[at]["callFrame"]["functionName"] != "(root)":
                frames.append(_frame(nodes[at]["callFrame"]))
            at = parents.get(at)
        yield tuple(reversed(frames)), us / 1e6


def _leaf(node: Mapping[str, Any]) -> Frame:
    ticks = node.get("positionTicks") or [{"line": node["callFrame"]["lineNumber"] + 1, "ticks": 1}]
    return _frame(node["callFrame"], max(ticks, key=lambda each: each["ticks"])["line"])


def _frame(call: Mapping[str, Any], line: int | None = None) -> Frame:
    return _frame_at(call["functionName"] or "(anonymous)", call["url"], call["lineNumber"] + 1 if line is None else line)


_LINE = re.compile(r"\s+at (?:async )?(?:(?P<function>.+) \()?(?P<url>(?:file|node):[^()]*|/[^()]*):(?P<line>\d+):\d+\)?")


def _frames_of(text: str) -> Iterator[Frame]:
    """The stack of an Error, the outermost call first, without the hook's own."""
    for line in reversed(text.splitlines()):
        if (found := _LINE.fullmatch(line)) is not None and not found["url"].startswith("node:internal/async_hooks"):
            yield _frame_at(found["function"] or "(anonymous)", found["url"], int(found["line"]))


def _frame_at(function: str, url: str, line: int) -> Frame:
    file = unquote(url.removeprefix("file://"))
    return Frame(function, file, max(0, line), file.startswith("/") and "/node_modules/" not in file)
