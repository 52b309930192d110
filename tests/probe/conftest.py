"""A network namespace of their own for tests that count sockets: neighbours would be counted too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

_ENTER = """
import ctypes, fcntl, json, os, socket, struct, sys, time
uid, gid = os.geteuid(), os.getegid()
NEW_NET, NEW_USER = 0x40000000, 0x10000000
unshare = ctypes.CDLL(None).unshare
if unshare(NEW_NET):
    if unshare(NEW_NET | NEW_USER):
        sys.exit(77)
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError:
        sys.exit(77)
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x41))  # SIOCSIFFLAGS: lo up

def sysctl(name, value):
    with open(f"/proc/sys/net/{name}", "w") as file:
        file.write(str(value))

def pair(address, family=socket.AF_INET):
    client = socket.socket(family)
    client.connect(address)
    return client, listener.accept()[0]

def await_time_wait(count):
    for _ in range(200):
        if f" tw {count} " in open("/proc/net/sockstat").read():
            return
        time.sleep(0.01)
    raise AssertionError(open("/proc/net/sockstat").read())

sysctl("ipv4/tcp_tw_reuse", 0)
listener = socket.create_server(("127.0.0.1", 9000), backlog=64)
"""

InNamespace = Callable[[str], Any]


@pytest.fixture
def in_namespace() -> InNamespace:
    """Runs code in a process with a network namespace of its own; gives what it reported with `tell(value)`."""

    def run(code: str) -> Any:
        program = _ENTER + "def tell(value): print(json.dumps(value))\n" + code
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
        if done.returncode == 77:
            pytest.skip("this machine allows no network namespace")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
