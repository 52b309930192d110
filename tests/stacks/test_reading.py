"""What each tool prints becomes frames, seconds, and whose code it is. No process is needed."""

from __future__ import annotations

import pytest

from capexplorer.model.stacks import STACKS_MOST, Frame
from capexplorer.stacks import go, jvm, native, node, python
from capexplorer.stacks.folding import Sampler

LIBRARY = "/usr/lib/python3.11/threading.py"


def test_the_stacks_with_most_seconds_are_kept() -> None:
    sampler = Sampler("python", "wall", "py-spy", (1,), 10.0)
    found = sampler.sampled([([Frame(f"f{number}")], number / 1000) for number in range(STACKS_MOST + 3)])
    assert (len(found.stacks), found.omitted_s) == (STACKS_MOST, 0.003)
    assert found.frames[found.stacks[0].frames[0]].function == f"f{STACKS_MOST + 2}"


def test_equal_stacks_become_one() -> None:
    sampler = Sampler("python", "wall", "py-spy", (1,), 10.0)
    [stack] = sampler.sampled([([Frame("f"), Frame("g")], 1.0), ([Frame("f"), Frame("g")], 0.5), ([Frame("h")], 0.0)]).stacks
    assert (stack.frames, stack.seconds) == ((0, 1), 1.5)


def test_lines_of_py_spy() -> None:
    before = 'process 7:"python -c a;b (x.py:1)";thread (0x7f): Thread-1 (work);'
    line = f"{before}run ({LIBRARY}:10);acquire (/srv/my app/db.py:41) 12\n"
    [(thread, frames, rounds)] = python._stacks([line, "no stack\n"])
    assert (thread, rounds) == ("0x7f", 12)
    assert frames[-2:] == (Frame("run", LIBRARY, 10), Frame("acquire", "/srv/my app/db.py", 41, is_own=True))


@pytest.mark.parametrize(
    "file", [LIBRARY, "/srv/.venv/lib/python3.12/site-packages/a.py", "/usr/lib/python3/dist-packages/a.py", "<frozen runpy>"]
)
def test_files_of_python_that_are_not_own(file: str) -> None:
    [(_, [frame], _)] = python._stacks([f"f ({file}:1) 1"])
    assert not frame.is_own


def test_a_sample_of_an_installed_capexplorer_is_own() -> None:
    file = "/srv/.venv/lib/python3.12/site-packages/capexplorer/shipped/targets/mixed/app.py"
    [(_, [frame], _)] = python._stacks([f"f ({file}:1) 1"])
    assert frame.is_own


def test_a_runnable_thread_of_python_is_on_a_cpu_as_far_as_the_process_used_one() -> None:
    score, receive, resize = ((Frame(name), Frame("leaf")) for name in ("score", "receive", "resize"))
    holding: python._Seconds = {score: 3.0}
    runnable: python._Seconds = {score: 3.5, receive: 2.5, resize: 1.0}
    assert python._on_cpu(holding, runnable, used_s=3.0) == {score: 3.0, receive: 0.0, resize: 0.0}
    assert python._on_cpu(holding, runnable, used_s=5.0) == {score: 3.25, receive: 1.25, resize: 0.5}
    assert python._on_cpu(holding, runnable, used_s=9.0) == {score: 3.5, receive: 2.5, resize: 1.0}
    assert python._on_cpu({}, {}, used_s=1.0) == {}


GOROUTINES = """goroutine profile: total 3
2 @ 0x43a 0x44b
#\t0x43a\tsync.(*Mutex).Lock+0x1f\t\t/usr/local/go/src/sync/mutex.go:90
#\t0x44b\tmain.countVisit+0x2b\t\t/srv/shop/main.go:30

1 @ 0x43c
#\t0x43c\truntime.main+0x1f\t/usr/local/go/src/runtime/proc.go:283
"""


def test_goroutines() -> None:
    visit = (("main.countVisit", "/srv/shop/main.go", 30), ("sync.(*Mutex).Lock", "/usr/local/go/src/sync/mutex.go", 90))
    begin = (("runtime.main", "/usr/local/go/src/runtime/proc.go", 283),)
    assert list(go._goroutines_of(GOROUTINES)) == [(visit, 2), (begin, 1)]


OWN = [
    ("main.work", "/srv/shop/main.go", True),
    ("shop/db.Query", "/srv/shop/db/db.go", True),
    ("sync.(*Mutex).Lock", "/opt/go/src/sync/mutex.go", False),
    ("github.com/a/b.F", "/root/go/pkg/mod/github.com/a/b@v1.0.0/b.go", False),
    ("github.com/a/b.F", "/srv/shop/vendor/github.com/a/b/b.go", False),
    ("main.work", "github.com/me/shop/main.go", True),  # built with -trimpath
    ("github.com/me/shop/db.Query", "github.com/me/shop/db/db.go", True),
    ("github.com/a/b.F", "github.com/a/b@v1.0.0/b.go", False),
    ("net/http.(*conn).serve", "net/http/server.go", False),
]


@pytest.mark.parametrize(("function", "file", "is_own"), OWN)
def test_own_code_of_go(function: str, file: str, is_own: bool) -> None:
    assert go._Own(["/opt/go/src/runtime/proc.go"]).has(function, file, 1) == is_own


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A message of protobuf, whose numbers are below 128 and whose texts are shorter."""
    pieces = [
        bytes((number << 3, value)) if isinstance(value, int) else bytes((number << 3 | 2, len(value))) + value
        for number, value in fields
    ]
    return b"".join(pieces)


def test_a_profile_of_go() -> None:
    texts = [b"", b"main.inlined", b"/srv/main.go", b"main.main"]
    functions = [message((1, 1), (2, 1), (4, 2)), message((1, 2), (2, 3), (4, 2))]
    leaf = message((1, 1), (4, message((1, 1), (2, 9))), (4, message((1, 2), (2, 20))))  # inlined at line 20
    sample = message((1, bytes([1])), (2, bytes([3, 100])))
    profile = message((2, sample), (4, leaf), *((5, each) for each in functions), *((6, each) for each in texts))
    assert list(go._seen_in(profile)) == [((("main.main", "/srv/main.go", 20), ("main.inlined", "/srv/main.go", 9)), 100 / 1e9)]
    with pytest.raises(ValueError, match="no profile"):
        list(go._seen_in(b"<html>"))


DUMP = """2026-11-27 09:00:00
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):

"pool-1-thread-2" #14 prio=5 os_prio=0 cpu=3.50ms elapsed=9.1s tid=0x00007f01 nid=0x2 waiting for monitor entry  [0x00007f]
   java.lang.Thread.State: BLOCKED (on object monitor)
\tat com.acme.Shop.countVisit(Shop.java:20)
\t- waiting to lock <0x00> (a java.lang.Class for com.acme.Shop)
\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

"http" #15 prio=5 os_prio=0 cpu=1.00ms elapsed=9.1s tid=0x00007f02 nid=0x3 runnable  [0x00007f]
   java.lang.Thread.State: RUNNABLE
\tat sun.nio.ch.EPoll.wait(java.base@17.0.15/Native Method)
\tat com.acme.Shop.main(Shop.java:9)

"busy" #16 prio=5 os_prio=0 cpu=9.00ms elapsed=9.1s tid=0x00007f03 nid=0x4 runnable  [0x00007f]
   java.lang.Thread.State: RUNNABLE
\tat com.acme.Shop.score(Shop.java:30)

"G1 Conc#0" os_prio=0 cpu=0.05ms elapsed=9.1s tid=0x00007f04 nid=0x5 runnable
"""


def test_a_dump_of_the_jvm() -> None:
    pool, http, busy = jvm._threads_of(DUMP, {})
    assert pool.frames == (
        Frame("java.lang.Thread.run", "Thread.java", 840),
        Frame("com.acme.Shop.countVisit", "Shop.java", 20, True),
    )
    assert [each.cpu_ms for each in (pool, http, busy)] == [3.5, 1.0, 9.0]
    assert [each.is_runnable for each in (pool, http, busy)] == [False, False, True]


def test_a_profile_of_node() -> None:
    def of(number: int, name: str, url: str, line: int, *children: int, **more: object) -> dict[str, object]:
        call = {"functionName": name, "url": url, "lineNumber": line}
        return {"id": number, "callFrame": call, "children": children, **more}

    nodes = [
        of(1, "(root)", "", -1, 2, 4),
        of(2, "handle", "file:///srv/my%20app/a.js", 4, 3),
        of(3, "", "file:///srv/node_modules/b.js", 0, positionTicks=[{"line": 7, "ticks": 1}, {"line": 9, "ticks": 4}]),
        of(4, "(idle)", "", -1),
    ]
    found = list(node._stacks_of({"nodes": nodes, "samples": [3, 4, 3], "timeDeltas": [1000, 5000, 2000]}))
    assert found == [((Frame("handle", "/srv/my app/a.js", 5, True), Frame("(anonymous)", "/srv/node_modules/b.js", 9)), 0.003)]


def test_the_stack_of_an_operation_of_node() -> None:
    text = "Error\n    at AsyncHook.init (<anonymous>:9:40)\n    at emitInitNative (node:internal/async_hooks:202:43)\n"
    text += (
        "    at Object.pbkdf2 (node:internal/crypto/pbkdf2:44:15)\n    at async verify (/srv/a.js:18:10)\n    at /srv/a.mjs:29:5"
    )
    outermost, verify, pbkdf2 = node._frames_of(text)
    assert outermost == Frame("(anonymous)", "/srv/a.mjs", 29, True)
    assert (verify, pbkdf2.is_own) == (Frame("verify", "/srv/a.js", 18, True), False)


def test_lines_of_perf() -> None:
    [symbol, unknown] = [
        native._CALL.fullmatch(line) for line in ("\t   1285 std::map<a (b)>::at(int) (/srv/shop)", "\t 7f [unknown] ([unknown])")
    ]
    assert symbol is not None and (symbol["address"], symbol["function"], symbol["file"]) == (
        "1285",
        "std::map<a (b)>::at(int)",
        "/srv/shop",
    )
    assert unknown is not None and unknown["function"] == "[unknown]"
