"""A process enters its own network namespace and keeps its user, folder and environment; a refusal is one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from programs import require

from capexplorer import namespace
from capexplorer.model.limits import NetworkLimits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")

PORTS, REUSE, QUEUE = "net/ipv4/ip_local_port_range", "net/ipv4/tcp_tw_reuse", "net/core/somaxconn"

ENTER = """
import json, os, socket, sys
from pathlib import Path
from capexplorer.model.limits import NetworkLimits
from capexplorer.namespace import enter

def sysctl(name):
    return Path("/proc/sys", name).read_text().split()

before = [os.getpid(), os.getuid(), os.getgid(), os.getcwd(), os.environ.get("MARK")]
entered = enter(NetworkLimits(ip_local_port_range=(32768, 32867), tcp_tw_reuse=0, somaxconn=7))
after = [os.getpid(), os.getuid(), os.getgid(), os.getcwd(), os.environ.get("MARK")]
with socket.create_server(("127.0.0.1", 9000)) as listener, socket.create_connection(("127.0.0.1", 9000)) as client:
    port = client.getsockname()[1]
    listener.accept()[0].close()
with open("/proc/self/io") as file:
    io = file.read()
child = os.popen("cat /proc/sys/net/core/somaxconn").read().split()
print(json.dumps([entered, before == after, [sysctl(name) for name in sys.argv[1:]], port, "rchar" in io, child]))
"""

UNPRIVILEGED = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")
WITHOUT_NAMESPACES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
"""Root without capabilities: a process without CAP_SETFCAP cannot map user 0, so it can create no user namespace."""


def host_settings() -> list[str]:
    return [Path("/proc/sys", name).read_text() for name in (PORTS, REUSE, QUEUE)]


def python(program: str, *args: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-c", program, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env={**os.environ, "MARK": "kept"})


def require_root_and(command: Sequence[str]) -> None:
    require(command[0])
    if os.geteuid() != 0:
        pytest.skip("needs root, to take rights away")


def skip_where_none_is_allowed(done: subprocess.CompletedProcess[str]) -> None:
    """Skips where the kernel refuses a namespace; any other failure fails the test."""
    if "no network namespace is allowed here" in done.stderr:
        pytest.skip("this machine allows no network namespace")
    assert done.returncode == 0, done.stderr


def entered(done: subprocess.CompletedProcess[str]) -> Any:
    skip_where_none_is_allowed(done)
    return json.loads(done.stdout)


INSIDE = [True, True, [["32768", "32867"], ["0"], ["7"]], True, ["7"]]


def test_limits_apply_inside_the_namespace_and_the_host_keeps_its_settings() -> None:
    before = host_settings()
    *found, port, io_readable, child = entered(python(ENTER, PORTS, REUSE, QUEUE))
    assert [*found, io_readable, child] == INSIDE
    assert 32_768 <= port <= 32_867
    assert host_settings() == before


def test_an_unprivileged_user_enters_a_namespace_and_keeps_the_user_id() -> None:
    require_root_and(UNPRIVILEGED)
    if python("print(1)", before=UNPRIVILEGED).returncode:
        pytest.skip("the interpreter lies where another user may not read it")
    *found, _, io_readable, child = entered(python(ENTER, PORTS, REUSE, QUEUE, before=UNPRIVILEGED))
    assert [*found, io_readable, child] == INSIDE


def test_without_limits_nothing_is_done() -> None:
    inside = os.readlink("/proc/self/ns/net")
    assert namespace.enter(NetworkLimits()) is False
    assert os.readlink("/proc/self/ns/net") == inside


def test_run_fails_in_one_line_without_root_and_user_namespaces() -> None:
    require_root_and(WITHOUT_NAMESPACES)
    command = [*WITHOUT_NAMESPACES, sys.executable, "-m", "capexplorer", "run", "ports", "--headless", "--plan", "1:1s"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("capexplorer: limits.network: no network namespace is allowed here (Operation not permitted): ")
    assert done.stderr.count("\n") == 1
    assert "run as root" in done.stderr


def test_the_refusal_of_a_namespace_has_the_reason_of_the_kernel() -> None:
    require_root_and(WITHOUT_NAMESPACES)
    done = python("from capexplorer import namespace; print(namespace.refusal())", before=WITHOUT_NAMESPACES)
    assert done.stdout.startswith("no network namespace is allowed here (Operation not permitted): ")


READ_ONLY_SYSCTLS = ("unshare", "-m", "sh", "-c", 'mount --bind -r /proc/sys /proc/sys && exec "$@"', "sh")
"""As a container has them."""


def test_where_settings_are_read_only_the_refusal_says_what_starts_a_container_with_them() -> None:
    require_root_and(READ_ONLY_SYSCTLS)
    done = python("from capexplorer import namespace; print(namespace.refusal())", before=READ_ONLY_SYSCTLS)
    if done.stderr.startswith(("unshare:", "mount:")):
        pytest.skip("this machine allows no mount namespace")
    assert done.stdout.endswith(": start the container with `--sysctl 'net.core.somaxconn=128'` instead\n")
    assert done.stdout.count("\n") == 1


def test_a_process_with_threads_cannot_enter_a_namespace() -> None:
    program = "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    program += "from capexplorer import namespace; namespace.enter(namespace.NetworkLimits(tcp_tw_reuse=0))"
    done = python(program)
    assert "RuntimeError: a process with threads cannot enter" in done.stderr
