"""Runs a test's code in a new network namespace, where only the test's own sockets exist and can be counted exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

_NO_NAMESPACE_EXIT_CODE = 77

_PRELUDE = f"""
import ctypes, fcntl, json, os, socket, struct, sys, time
from capexplorer.read.ports import PortsProbe
from capexplorer.read.tcp import TcpProbe
uid, gid = os.geteuid(), os.getegid()
CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
unshare = ctypes.CDLL(None).unshare
if unshare(CLONE_NEWNET):  # not root: only with a user namespace
    if unshare(CLONE_NEWNET | CLONE_NEWUSER):
        sys.exit({_NO_NAMESPACE_EXIT_CODE})
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {{uid}} 1"), ("gid_map", f"0 {{gid}} 1")):
            with open(f"/proc/self/{{name}}", "w") as file:
                file.write(text)
    except OSError:
        sys.exit({_NO_NAMESPACE_EXIT_CODE})

def set_loopback_up():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING

def sysctl(name, value):
    with open(f"/proc/sys/net/{{name}}", "w") as file:
        file.write(str(value))

def connect(address, family=socket.AF_INET):
    '''A connection to `listener`: its client socket and its server socket.'''
    client = socket.socket(family)
    client.connect(address)
    return client, listener.accept()[0]

def wait_for_time_wait_sockets(count):
    for _ in range(200):
        if f" tw {{count}} " in open("/proc/net/sockstat").read():
            return
        time.sleep(0.01)
    raise AssertionError(open("/proc/net/sockstat").read())

def fields(reading):
    return {{name: getattr(reading, name) for name in reading.__struct_fields__}}

def used_ports():
    return fields(PortsProbe().read(1.0))

def report(value):
    '''Return a value to the test.'''
    print(json.dumps(value))

set_loopback_up()
sysctl("ipv4/tcp_tw_reuse", 0)
listener = socket.create_server(("127.0.0.1", 9000), backlog=64)
"""
"""Runs before the test's code: enters a new namespace and defines the names that the test's code may use."""


def run_in_namespace(code: str) -> Any:
    """Run code in a process with its own network namespace; returns the value that the code gave to `report`.

    The code may use `listener` (127.0.0.1:9000) and the functions of `_PRELUDE`.
    """
    done = subprocess.run([sys.executable, "-c", _PRELUDE + code], capture_output=True, text=True, timeout=240)
    if done.returncode == _NO_NAMESPACE_EXIT_CODE:
        pytest.skip("this machine allows no network namespace")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
