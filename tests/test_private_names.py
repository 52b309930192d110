"""The private names of libraries that capexplorer uses, with the files that use them and why. Each exists, and no other is used.

Because of them `pyproject.toml` bounds the versions of these libraries and of Python. Names that are replaced are in the table of
`load/hooks`, which `tests/load/test_hooks.py` walks.
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
from kit.package import PACKAGE, modules

HOOKS = PACKAGE / "load" / "hooks"


class Private(NamedTuple):
    """A private name of a library, which a new version may change."""

    owner: str
    """Where it is defined: `module`, `module:Class` or `module:Class.function`."""
    name: str
    """An attribute of the owner or of its instances; if the owner is a function, a local variable."""
    files: tuple[str, ...]
    purpose: str
    """What it is, or what is done with it and why."""


# Owners.
POOL = "geventhttpclient.connectionpool:ConnectionPool"
URLLIB3_POOL = "urllib3.connectionpool:HTTPConnectionPool"
DRIVER = "textual.drivers.linux_driver:LinuxDriver"
FAST_HTTP_RESPONSE = "geventhttpclient.useragent:CompatResponse"
USER_AGENT = "geventhttpclient.useragent:UserAgent"
POOL_RESPONSE = "geventhttpclient.response:HTTPSocketPoolResponse"

# Files that use several names.
CONNECTIONS, BODIES, TERMINAL = ("load/connections.py",), ("load/hooks/client_results.py",), ("tui/terminal_driver.py",)
KEEP_ALIVE, LEAN = ("load/hooks/client_connections.py",), ("load/lean/connection.py", "load/lean/session.py")
RESULTS = ("load/hooks/client_results.py",)
STREAMS = "load/streams.py"
MASTER = ("load/workers/worker_registry.py",)
DISPATCHER_FILES = ("load/local_engine.py", "load/offering.py")
QUEUE_FILES = ("commands/run/exploring.py", "load/load_thread.py", "run/pump.py")
EMPTY_QUEUE_FILES = ("commands/run/exploring.py", "run/pump.py")
SOCKET_FILES = ("native_http.py", "read/sockdiag.py", "run/control_server.py", "target/place.py")

# A purpose of several names.
UNPATCHED = "is never patched by gevent: native threads wait on it without a hub"

USED_NAMES = (
    Private("_queue", "SimpleQueue", QUEUE_FILES, UNPATCHED),
    Private(
        "argparse:ArgumentParser", "_option_string_actions", ("load/workload.py",),
        "says whether an argument is an option of Locust, or one of the locustfile",
    ),
    Private(
        "locust.env:Environment", "_filter_tasks_by_tags", ("load/load_thread.py",),
        "takes away the tasks that `--tags` leaves out; Locust's own main calls it",
    ),
    Private("_queue", "Empty", EMPTY_QUEUE_FILES, "is what _queue.SimpleQueue raises"),
    Private("_thread", "allocate_lock", ("load/native.py",), UNPATCHED),
    Private("_thread", "get_native_id", ("load/load_thread.py", "run/pump.py", "run/worker_process.py"), UNPATCHED),
    Private("_socket", "socket", SOCKET_FILES, UNPATCHED),
    Private("_socket:socket", "_accept", ("run/control_server.py",), "accepts: the public accept makes a socket of gevent"),
    Private("locust.runners:LocalRunner", "_local_worker_node", DISPATCHER_FILES, "has the dispatched users, by class"),
    Private("locust.user:User", "_state", ("load/offering.py",), "is set: Locust may stop users that wait for arrivals"),
    Private("locust.runners:MasterRunner", "_users_dispatcher", MASTER, "is called: a worker gets no users any more"),
    Private(POOL, "_socket_queue", KEEP_ALIVE, "has the idle sockets that a closed pool closes"),
    Private("geventhttpclient.client:HTTPClient.request", "request", KEEP_ALIVE, "is a request, until its reply has it"),
    Private("geventhttpclient.response:HTTPResponse", "_sent_request", KEEP_ALIVE, "is the request of a reply"),
    Private(POOL_RESPONSE, "_sock", (*KEEP_ALIVE, STREAMS), "is the socket of a stream that user code did not read to its end"),
    Private(POOL_RESPONSE, "_pool", KEEP_ALIVE, "is the pool that this socket belongs to"),
    Private("geventhttpclient", "_parser", LEAN, "is llhttp's parser"),
    Private("gevent.socket:socket", "_sock", ("load/lean/connection.py",), "is the socket whose calls do not wait"),
    Private("ssl", "_create_unverified_context", ("load/lean/session.py",), "takes any certificate, as FastHttpUser does"),
    Private("geventhttpclient.client:HTTPClient.request", "sock", CONNECTIONS, "is the socket of a failed request"),
    Private(URLLIB3_POOL, "_make_request", CONNECTIONS, "is the frame that has the connection"),
    Private(f"{URLLIB3_POOL}._make_request", "conn", CONNECTIONS, "is that connection"),
    Private("requests.models:Response", "_content", (*BODIES, "load/signature.py", STREAMS), "is where the body is kept"),
    Private(FAST_HTTP_RESPONSE, "_cached_content", ("load/signature.py", STREAMS), "is the body that was read"),
    Private(FAST_HTTP_RESPONSE, "_sent_request", ("load/kept_requests.py",), "is the head of the request that was sent"),
    Private("requests.models:Response", "_content_consumed", BODIES, "is whether user code has read it in parts"),
    Private("geventhttpclient.response:HTTPResponse", "_body_buffer", (*BODIES, STREAMS), "is what arrived and was not read yet"),
    Private(FAST_HTTP_RESPONSE, "_response", BODIES, "is the response as it arrived"),
    Private(USER_AGENT, "_make_request", RESULTS, "makes the request of a reply that did not arrive"),
    Private("gevent._socketcommon", "getaddrinfo", ("load/hooks/hook_table.py",), "looks names up for gevent itself"),
    Private("gevent._socketcommon", "_resolve_addr", ("load/guard.py",), "looks up the address that is checked"),
    Private("gevent.hub:Hub", "_normalize_exception", ("load/user_code.py",), "makes the exception of what a greenlet raised"),
    Private("sys", "_getframe", (*KEEP_ALIVE, "load/user_activity.py"), "has the code that fires an event, or ends a reply"),
    Private("sys", "_current_frames", ("load/load_thread.py",), "has the stack of a load thread that does not respond"),
    Private("textual.driver:Driver", "_loop", TERMINAL, "is the event loop that a signal is passed to"),
    Private("textual.message_pump:MessagePump", "_closing", ("tui/typeahead.py",), "is whether a prompt is closing"),
    Private("textual.message_pump:MessagePump", "_closed", ("tui/typeahead.py",), "is whether a prompt has closed"),
    Private("textual._xterm_parser", "XTermParser", TERMINAL, "makes key events of what was typed"),
    Private(DRIVER, "_app", TERMINAL, "is the app, which ends when the terminal hangs up"),
    Private(DRIVER, "_debug", TERMINAL, "is passed to the parser"),
    Private(DRIVER, "_file", TERMINAL, "is replaced by the descriptor of the terminal that capexplorer keeps"),
    Private(DRIVER, "_get_terminal_size", TERMINAL, "is overridden"),
    Private(DRIVER, "_must_signal_resume", TERMINAL, "distinguishes a stop from a hang-up"),
    Private(DRIVER, "_sigcont_application", TERMINAL, "is overridden"),
    Private("textual.message_pump:MessagePump", "_parent", ("tui/typeahead.py",), "is where the event of a key goes next"),
    Private("textual.app:App", "_print", ("tui/app.py",), "is overridden: Textual drops what user code prints"),
    Private("textual.app:App", "_driver", ("tui/screens/explorer.py",), "writes the clipboard's escape sequence"),
    Private("textual.app:App", "_exception", ("tui/base_app.py",), "is raised again after the screen has closed"),
)  # fmt: skip

BY_NAME = ("getattr", "hasattr", "setattr", "delattr")

NODES_WITH_NAMES = (
    ast.Call,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Name,
    ast.Attribute,
    ast.ImportFrom,
    ast.Import,
)

PUBLIC = {"_exit", "_asdict", "_replace"}
"""Documented, although they begin with an underscore: of `os` and of named tuples."""

PRINT_WHICH_EXIST = """
import importlib, importlib.metadata, json, sys

def exists(owner, name):
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
    return hasattr(found, name) or any(name in getattr(each, "__code__", exists.__code__).co_names for each in made)

print(json.dumps([exists(*each) for each in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def exists() -> dict[tuple[str, str], bool]:
    """Whether each name exists, by owner and name; from a process of its own, since importing Locust patches the process."""
    names = [(each.owner, each.name) for each in USED_NAMES]
    command = [sys.executable, "-c", PRINT_WHICH_EXIST, json.dumps(names)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(zip(names, json.loads(printed), strict=True))


@pytest.mark.parametrize("private", USED_NAMES, ids=lambda each: f"{each.owner}.{each.name}")
def test_each_listed_name_exists(private: Private, exists: dict[tuple[str, str], bool]) -> None:
    assert exists[private.owner, private.name], (
        f"{private.owner} has no `{private.name}`, which {' and '.join(private.files)} need: it {private.purpose}"
    )


def test_no_unlisted_private_name_is_used() -> None:
    listed = {(file, name) for each in USED_NAMES for file in each.files for name in (*each.owner.split("."), each.name)}
    listed |= {(f"load/hooks/{path.name}", name) for path in HOOKS.glob("*.py") for name in replaced_names()}
    unlisted = [f"{file}:{line}: {name}" for file, line, name in foreign_names(PACKAGE) if (file, name) not in listed]
    assert unlisted == [], "add the name to USED_NAMES with its purpose, or use a public one"


def test_each_listed_file_uses_its_name() -> None:
    for each in USED_NAMES:
        for file in each.files:
            assert each.name in (PACKAGE / file).read_text(encoding="utf-8"), f"{file} does not use {each.owner}.{each.name}"


def test_private_names_of_other_packages_are_found_and_own_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_text(
        "from textual._parser import Parser\nimport locust._x\n"
        "class A(App):\n    def _own(self):\n        super()._hook()\n        self._own()\n"
        "        return self._attribute, client._other, getattr(client, '_named', None), getattr(self, '_own')\n"
    )
    assert [name for _, _, name in foreign_names(tmp_path)] == ["_parser", "_x", "_hook", "_attribute", "_other", "_named"]


def replaced_names() -> set[str]:
    """The attributes in the table of `load/hooks`."""
    rows = ast.walk(ast.parse((HOOKS / "hook_table.py").read_text(encoding="utf-8")))
    calls = [row.args for row in rows if isinstance(row, ast.Call) and isinstance(row.func, ast.Name) and row.func.id == "Hook"]
    return {str(attribute.value) for _, attribute, *_ in calls if isinstance(attribute, ast.Constant)}


def foreign_names(package: Path) -> Iterator[tuple[str, int, str]]:
    """(file, line, name) of each private name that no file in the same folder below the package defines."""
    nodes_by_file = {path.relative_to(package): _nodes_with_names(path) for path in modules(package)}
    own: dict[str, set[str]] = {}
    for path, found in nodes_by_file.items():
        own.setdefault(path.parts[0], set()).update(name for node in found for name in _defined(node))
    for path, found in nodes_by_file.items():
        for node in found:
            for name in _used(node, own[path.parts[0]]):
                yield str(path), getattr(node, "lineno", 0), name


def _nodes_with_names(path: Path) -> list[ast.AST]:
    """The nodes of a file that define or use a name: a fifth of all. To match the others, too, would take 2 s."""
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, NODES_WITH_NAMES)]


def _defined(node: ast.AST) -> Iterator[str]:
    """The name that a node defines, if any."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            yield name


def _used(node: ast.AST, own: set[str]) -> Iterator[str]:
    """The private names of others that a node uses; `own` are those that its folder defines."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name) if _is_private(name):
            yield name
        case ast.Attribute(attr=name) if _is_private(name) and name not in own | PUBLIC:
            yield name
        case ast.Call(func=ast.Name(id=function), args=[_, ast.Constant(value=str(name)), *_]) if function in BY_NAME:
            yield from (name for name in [name] if _is_private(name) and name not in own | PUBLIC)
        case ast.ImportFrom(module=str(module), level=0, names=names):
            yield from filter(_is_private, [*module.split("."), *(each.name for each in names)])
        case ast.Import(names=names):
            yield from (part for each in names for part in each.name.split(".") if _is_private(part))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
