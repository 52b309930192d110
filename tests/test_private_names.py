"""Private names of libraries that capexplorer relies on: where, and what for. Each is there, and no other is used.

`pyproject.toml` bounds the versions of these libraries and of Python for their sake.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "capexplorer"


class Private(NamedTuple):
    """A name that its library may change without notice."""

    owner: str
    """`module`, `module:Class` or `module:Class.function`."""
    name: str
    """An attribute of the owner or of its instances; of a function, a local variable."""
    files: tuple[str, ...]
    purpose: str


POOL = "geventhttpclient.connectionpool:ConnectionPool"
URLLIB3_POOL = "urllib3.connectionpool:HTTPConnectionPool"
DRIVER = "textual.drivers.linux_driver:LinuxDriver"
COMPAT = "geventhttpclient.useragent:CompatResponse"
REPLY = "geventhttpclient.response:HTTPSocketPoolResponse"
CONNECTIONS, BODIES, TERMINAL = ("load/connections.py",), ("load/bodies.py",), ("tui/terminal_driver.py",)
KEEP_ALIVE, LEAN = ("load/keep_alive.py",), ("load/lean/reply.py", "load/lean/session.py")
MASTER = ("load/workers/master.py",)
DISPATCHED = ("load/local_engine.py", "load/offered/pool_users.py")
QUEUES = ("commands/headless.py", "load/hub_thread.py", "run/inbox.py", "run/drivers/driver.py")
EMPTY = ("commands/headless.py", "run/inbox.py")
NATIVE = "is never patched by gevent: native threads wait on it without a hub"

RELIED_ON = (
    Private("_queue", "SimpleQueue", QUEUES, NATIVE),
    Private("_queue", "Empty", EMPTY, "is what _queue.SimpleQueue raises"),
    Private("_thread", "allocate_lock", ("load/native.py",), NATIVE),
    Private("_thread", "get_native_id", ("load/hub_thread.py", "run/pump.py", "run/worker_process.py"), NATIVE),
    Private("_socket", "socket", ("native_http.py", "probe/sockdiag.py", "run/control_server.py", "target/free_port.py"), NATIVE),
    Private("_socket:socket", "_accept", ("run/control_server.py",), "accepts: the public accept makes a socket of gevent"),
    Private("http.client", "_read_headers", ("load/truncated.py",), "is wrapped: a reply cut off in its headers is a failure"),
    Private("locust.user.task:TaskSet", "_sleep", ("load/task_hooks.py",), "is replaced: every wait of every user passes it"),
    Private("locust.runners:LocalRunner", "_local_worker_node", DISPATCHED, "has the dispatched users, by class"),
    Private("locust.user:User", "_state", ("load/offered/offering.py",), "is set: Locust may stop who waits for an arrival"),
    Private("locust.runners:MasterRunner", "_users_dispatcher", MASTER, "is told that a worker gets no users any more"),
    Private("geventhttpclient.client", "_may_retry_after_send_error", ("load/attempts.py",), "is wrapped: it allows a resend"),
    Private("geventhttpclient.useragent:UserAgent", "_handle_error", ("load/attempts.py",), "is wrapped: it allows a retry"),
    Private(POOL, "_create_socket", CONNECTIONS, "is wrapped: marks fresh sockets"),
    Private(POOL, "_connect_socket", CONNECTIONS, "is wrapped: names connect timeouts"),
    Private(POOL, "_is_socket_alive", KEEP_ALIVE, "is replaced: select() refuses descriptors above 1,023"),
    Private(POOL, "_socket_queue", KEEP_ALIVE, "has the idle sockets that a closed pool closes"),
    Private("geventhttpclient.client:HTTPClient", "_build_request", KEEP_ALIVE, "is wrapped: a request may ask to close"),
    Private("geventhttpclient.client:HTTPClient", "_connection_pool", KEEP_ALIVE, "is where such a request is noted"),
    Private(REPLY, "_sock", KEEP_ALIVE, "is the socket of a stream that user code did not read to its end"),
    Private(REPLY, "_pool", KEEP_ALIVE, "is where it came from"),
    Private("geventhttpclient", "_parser", LEAN, "is llhttp's parser"),
    Private("gevent.socket:socket", "_sock", ("load/lean/connection.py",), "is the socket whose calls do not wait"),
    Private("ssl", "_create_unverified_context", ("load/lean/session.py",), "takes any certificate, as FastHttpUser does"),
    Private("geventhttpclient.client:HTTPClient.request", "sock", CONNECTIONS, "is the socket of a failed request"),
    Private("urllib3.connection:HTTPConnection", "_new_conn", CONNECTIONS, "is wrapped: marks fresh connections"),
    Private(URLLIB3_POOL, "_make_request", CONNECTIONS, "is the frame that has the connection"),
    Private(f"{URLLIB3_POOL}._make_request", "conn", CONNECTIONS, "is that connection"),
    Private("requests.models:Response", "_content", BODIES, "is where the body is kept: it is filled within its bound"),
    Private("requests.models:Response", "_content_consumed", BODIES, "tells whether user code has read it in parts"),
    Private("geventhttpclient.response:HTTPResponse", "_on_body", BODIES, "is wrapped: it takes each part that arrives"),
    Private("geventhttpclient.response:HTTPResponse", "_body_buffer", BODIES, "is what arrived and was not read yet"),
    Private(COMPAT, "_content", BODIES, "is wrapped: it unzips"),
    Private(COMPAT, "_response", BODIES, "is the reply as it came"),
    Private(COMPAT, "_cached_content", BODIES, "is emptied where the body was too large"),
    Private("gevent._socketcommon", "_resolve_addr", ("load/guard.py",), "looks up the address that is checked"),
    Private("gevent.hub:Hub", "_normalize_exception", ("load/user_code.py",), "makes the exception of what a greenlet raised"),
    Private("sys", "_current_frames", ("load/hub_thread.py",), "tells where a load thread that stands still is"),
    Private("textual.driver:Driver", "_loop", TERMINAL, "is the event loop that a signal is handed to"),
    Private("textual.message_pump:MessagePump", "_closing", ("tui/typeahead.py",), "tells that a prompt closes"),
    Private("textual.message_pump:MessagePump", "_closed", ("tui/typeahead.py",), "tells that it has"),
    Private("textual._xterm_parser", "XTermParser", TERMINAL, "makes key events of what was typed"),
    Private(DRIVER, "_app", TERMINAL, "is asked to end at a hang-up"),
    Private(DRIVER, "_debug", TERMINAL, "is handed to the parser"),
    Private(DRIVER, "_file", TERMINAL, "is replaced: the screen is drawn on our terminal"),
    Private(DRIVER, "_get_terminal_size", TERMINAL, "is overridden"),
    Private(DRIVER, "_must_signal_resume", TERMINAL, "tells a stop from a hang-up"),
    Private(DRIVER, "_sigcont_application", TERMINAL, "is overridden"),
    Private("textual.message_pump:MessagePump", "_parent", ("tui/typeahead.py",), "is the way that a key's event bubbles"),
    Private("textual.app:App", "_print", ("tui/app.py",), "is overridden: Textual drops what user code prints"),
    Private("textual.app:App", "_driver", ("tui/screens/explorer.py",), "writes the clipboard's escape sequence"),
    Private("textual.app:App", "_exception", ("tui/base_app.py",), "is raised again after the screen"),
)  # fmt: skip

NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Name, ast.Attribute, ast.ImportFrom, ast.Import)

DOCUMENTED = {"_exit", "_asdict"}
"""Public in spite of their underscore."""

LOOK = """
import importlib, importlib.metadata, json, sys

def is_there(owner, name):
    module, _, path = owner.partition(":")
    try:
        found = importlib.import_module(module)
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    if hasattr(found, "__code__"):
        return name in found.__code__.co_varnames
    made = [vars(kind)["__init__"] for kind in getattr(found, "__mro__", ()) if "__init__" in vars(kind)]
    return hasattr(found, name) or any(name in getattr(each, "__code__", is_there.__code__).co_names for each in made)

print(json.dumps([is_there(*each) for each in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def there() -> dict[tuple[str, str], bool]:
    """Looked up in a process of its own: Locust patches the one that imports it."""
    names = [(each.owner, each.name) for each in RELIED_ON]
    command = [sys.executable, "-c", LOOK, json.dumps(names)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(zip(names, json.loads(printed), strict=True))


@pytest.mark.parametrize("private", RELIED_ON, ids=lambda each: f"{each.owner}.{each.name}")
def test_it_is_there(private: Private, there: dict[tuple[str, str], bool]) -> None:
    assert there[private.owner, private.name], (
        f"{private.owner} has no `{private.name}`, which {' and '.join(private.files)} need: it {private.purpose}"
    )


def test_no_other_is_used() -> None:
    listed = {(file, name) for each in RELIED_ON for file in each.files for name in (*each.owner.split("."), each.name)}
    unlisted = [f"{file}:{line}: {name}" for file, line, name in foreign_names(PACKAGE) if (file, name) not in listed]
    assert unlisted == [], "a private name of a library, not listed here"


def test_each_is_used_where_it_says() -> None:
    for each in RELIED_ON:
        for file in each.files:
            assert each.name in (PACKAGE / file).read_text(encoding="utf-8"), f"{file} does not use {each.owner}.{each.name}"


def test_a_new_one_is_found(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a.py").write_text(
        "from textual._parser import Parser\nimport locust._x\n"
        "class A(App):\n    def _own(self):\n        super()._hook()\n        self._own()\n"
        "        return self._theirs, client._held\n"
    )
    assert [name for _, _, name in foreign_names(tmp_path)] == ["_parser", "_x", "_hook", "_theirs", "_held"]


def foreign_names(package: Path) -> Iterator[tuple[str, int, str]]:
    """(file, line, name) of private names that are not defined in their own room, which is a folder below the package."""
    nodes = {path.relative_to(package): _naming(path) for path in sorted(package.rglob("*.py"))}
    own: dict[str, set[str]] = {}
    for path, found in nodes.items():
        own.setdefault(path.parts[0], set()).update(name for node in found for name in _defined(node))
    for path, found in nodes.items():
        for node in found:
            for name in _used(node, own[path.parts[0]]):
                yield str(path), getattr(node, "lineno", 0), name


def _naming(path: Path) -> list[ast.AST]:
    """The nodes of a file that define or use a name: one of five, and to match each of the others would take 2 s."""
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, NAMING)]


def _defined(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            yield name


def _used(node: ast.AST, own: set[str]) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name) if _is_private(name):
            yield name
        case ast.Attribute(attr=name) if _is_private(name) and name not in own | DOCUMENTED:
            yield name
        case ast.ImportFrom(module=str(module), level=0, names=names):
            yield from filter(_is_private, [*module.split("."), *(each.name for each in names)])
        case ast.Import(names=names):
            yield from (part for each in names for part in each.name.split(".") if _is_private(part))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
