"""Stacks of real processes of each runtime, and that nothing is left when the sampling ends, is killed, or its target is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest
from programs import needs
from websockets.sync.client import ClientConnection, connect

from capexplorer import native_http
from capexplorer.model.stacks import SampledStacks
from capexplorer.procs import isolated
from capexplorer.stacks import python
from capexplorer.stacks.messages import Answer, Ask
from capexplorer.stacks.runtimes import listens_at, processes_of, runtime_of
from capexplorer.stacks.sampling import sample
from lab.kit.runs import MarkedEnvironment, wait_until

from .waiting import PYTHON, waiting, written

pytestmark = pytest.mark.slow

ONE_INSPECTOR = pytest.mark.xdist_group("node-inspector")
"""Node opens it at one port of the machine, so that no two of these tests may run at a time."""

PY_SPY = pytest.mark.skipif(python.why_not() is not None, reason=str(python.why_not()))
CASES = [
    pytest.param("python", "wall", marks=PY_SPY),
    pytest.param("go", "wall", marks=needs("go")),
    pytest.param("jvm", "wall", marks=needs("java", "javac")),
    pytest.param("node", "wall", marks=(needs("node"), ONE_INSPECTOR)),
    pytest.param("native", "cpu", marks=needs("gcc", "perf")),
]
RUNTIMES = [pytest.param(case.values[0], marks=case.marks) for case in CASES]


def innermost_own(sampled: SampledStacks) -> dict[str, float]:
    """Thread seconds by the innermost own function of each stack."""
    seconds: dict[str, float] = {}
    for stack in sampled.stacks:
        own = [sampled.frames[at].function for at in stack.frames if sampled.frames[at].is_own]
        if own:
            seconds[own[-1]] = seconds.get(own[-1], 0.0) + stack.seconds
    return seconds


@pytest.mark.parametrize(("runtime", "clock"), CASES)
def test_the_function_in_which_a_service_waits_is_seen(runtime: str, clock: str, tmp_path: Path) -> None:
    with waiting(runtime, tmp_path) as process:
        assert runtime_of(process.pid) == runtime
        answer = sample(Ask(pids=(process.pid,), seconds=1.0))
    assert answer.failed == ()
    seen = {each.clock: each for each in answer.sampled}[clock]  # type: ignore[index]
    assert (seen.runtime, seen.pids, seen.seconds) == (runtime, (process.pid,), 1.0)
    seconds = innermost_own(seen)
    assert max(seconds.values()) == sum(found for name, found in seconds.items() if name.rpartition(".")[2] == "waits")


@PY_SPY
def test_a_thread_that_waits_has_as_many_seconds_as_the_sampling(tmp_path: Path) -> None:
    with waiting("python", tmp_path) as process:
        [wall, cpu] = sample(Ask(pids=(process.pid,), seconds=1.0)).sampled
    assert sum(stack.seconds for stack in wall.stacks) == pytest.approx(1.0)
    assert (cpu.clock, cpu.stacks) == ("cpu", ())
    own = {(frame.function, Path(frame.file).name, frame.line) for frame in wall.frames if frame.is_own}
    assert own == {("<module>", "waiting.py", 6), ("waits", "waiting.py", 4)}


@PY_SPY
def test_a_service_below_a_shell_is_found(tmp_path: Path) -> None:
    words = ["sh", "-c", f"{sys.executable} {written(tmp_path / 'waiting.py', PYTHON)}; true"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        service = int(shell.stdout.readline())
        assert (runtime_of(shell.pid), processes_of([shell.pid])) == (None, {"python": (service,)})
        os.kill(service, signal.SIGKILL)


def test_a_process_that_has_ended_has_no_stacks() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        assert sample(Ask(pids=(process.pid,), seconds=1.0)) == Answer()


# -- what is left --------------------------------------------------------------------------------------------------------------


@contextmanager
def sampling(pid: int, seconds: float, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], MarkedEnvironment]]:
    """The process that samples, and the mark of all that it starts, whose temporary files are in `folder`."""
    marked, pipe = MarkedEnvironment(TMPDIR=str(folder)), subprocess.PIPE
    command = isolated.command("capexplorer.stacks.process", has_site=True)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=marked.environment) as process:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(Ask(pids=(pid,), seconds=seconds)) + b"\n")
        process.stdin.flush()
        try:
            yield process, marked
        finally:
            process.kill()


@contextmanager
def connected(inspector: str) -> Iterator[ClientConnection]:
    """A connection to an inspector of Node."""
    with native_http.get(f"http://{inspector}/json/list", timeout_s=10, most_bytes=1 << 20) as answer:
        [described] = msgspec.json.decode(b"".join(answer.body))
    with connect(described["webSocketDebuggerUrl"], proxy=None) as connection:
        yield connection


def is_hooked(inspector: str) -> bool:
    """Whether the timer that closes this inspector is set. Killed in the 50 ms before, a sampling leaves it open."""
    with connected(inspector) as connection:
        asked = {"expression": 'Symbol.for("capexplorer") in globalThis', "returnByValue": True}
        connection.send(msgspec.json.encode({"id": 1, "method": "Runtime.evaluate", "params": asked}).decode())
        return bool(msgspec.json.decode(connection.recv())["result"]["result"]["value"])


def is_touched(runtime: str, pid: int, marked: MarkedEnvironment) -> bool:
    """Whether the sampling has begun to look at the process."""
    match runtime:
        case "python":
            return len(marked.pids("py-spy")) == 3
        case "native":
            return bool(marked.pids("perf record"))
        case "node":
            return any(is_hooked(at) for at in listens_at([pid]))
        case "jvm":
            return Path(f"/tmp/.java_pid{pid}").exists() and not Path(f"/tmp/.attach_pid{pid}").exists()
        case _:
            return any(each.status == psutil.CONN_ESTABLISHED for each in psutil.Process(pid).net_connections("tcp"))


def is_free(runtime: str, pid: int) -> bool:
    """Whether nobody traces the process, and it has no port but its own."""
    traced = "TracerPid:\t0" not in Path(f"/proc/{pid}/status").read_text()
    ports = 1 if runtime == "go" else 0
    return not traced and len(listens_at([pid])) == ports and psutil.Process(pid).status() != psutil.STATUS_STOPPED


@pytest.mark.parametrize(
    ("how", "runtime"),
    [
        *(pytest.param(how, case.values[0], marks=case.marks) for how in ("ends", "is killed") for case in CASES),
        pytest.param("loses its input", "python", marks=PY_SPY),
    ],
)
def test_nothing_is_left_when_the_sampling(runtime: str, how: str, tmp_path: Path) -> None:
    (folder := tmp_path / "temporary").mkdir()
    with waiting(runtime, tmp_path) as service:
        with sampling(service.pid, 1.0 if how == "ends" else 600.0, folder) as (process, marked):
            if how == "ends":
                assert process.stdout is not None
                assert msgspec.json.decode(process.stdout.readline(), type=Answer).sampled
                assert process.wait() == 0
            else:
                wait_until(lambda: is_touched(runtime, service.pid, marked), "a process that samples")
                process.send_signal(signal.SIGKILL) if how == "is killed" else process.stdin.close()  # type: ignore[union-attr]
                process.wait()
            marked.assert_no_process_left()
        wait_until(lambda: is_free(runtime, service.pid), "a service as it was before")
        assert service.poll() is None
        assert list(folder.iterdir()) == []
        assert not Path(f"/tmp/.attach_pid{service.pid}").exists()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_target_that_dies_while_it_is_sampled_ends_the_sampling(runtime: str, tmp_path: Path) -> None:
    with waiting(runtime, tmp_path) as service, sampling(service.pid, 600.0, tmp_path) as (process, marked):
        wait_until(lambda: is_touched(runtime, service.pid, marked), "a process that samples")
        service.kill()
        service.wait()
        assert process.stdout is not None
        msgspec.json.decode(process.stdout.readline(), type=Answer)
        assert process.wait() == 0
        marked.assert_no_process_left()


ZIPS = """
const data = Buffer.from(Array.from({ length: 40000 }, (_, id) => id * 7919).join());
function zips() {
  require("zlib").gzip(data, { level: 9 }, zips);
}
for (let each = 0; each < 10; each++) zips();
console.log(process.pid);
"""


@needs("node")
@ONE_INSPECTOR
def test_an_operation_of_many_parts_is_seen_as_a_whole(tmp_path: Path) -> None:
    """Ten buffers, each compressed in some ten parts by four threads: all ten wait or are compressed at any time, but for what
    began before the sampling. They are so short that they begin in it on a busy machine, too."""
    (tmp_path / "zips.js").write_text(ZIPS)
    with subprocess.Popen(["node", str(tmp_path / "zips.js")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            seen = {each.clock: each for each in sample(Ask(pids=(process.pid,), seconds=3.0)).sampled}["wall"]
        finally:
            process.kill()
    assert 5 < sum(seconds for name, seconds in innermost_own(seen).items() if "zips" in name) / seen.seconds < 10.5


@needs("node")
@ONE_INSPECTOR
def test_the_inspector_of_node_is_closed_once_nobody_is_connected(tmp_path: Path) -> None:
    """Node 20 ends with SIGSEGV if it is closed while the close frame of a connection is being written."""
    with waiting("node", tmp_path) as service, sampling(service.pid, 15.0, tmp_path) as (process, marked):
        wait_until(lambda: is_touched("node", service.pid, marked), "a process that samples")
        [inspector] = listens_at([service.pid])
        with connected(inspector):
            process.wait()
            assert listens_at([service.pid]) == (inspector,)
        wait_until(lambda: is_free("node", service.pid), "a closed inspector")
        assert service.poll() is None
