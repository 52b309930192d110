"""Users that try to connect to OUTSIDE_PORT by ways that a guard in Python cannot check, and write each outcome to a file."""

from __future__ import annotations

import _socket
import ctypes
import json
import os
import shlex
import socket
import struct
import sys
from pathlib import Path

from locust import HttpUser, constant, task

PORT = int(os.environ["OUTSIDE_PORT"])
LIBC = ctypes.CDLL(None, use_errno=True)
CHILD = f"import socket, sys; sys.exit(socket.socket().connect_ex(('127.0.0.1', {PORT})))"


def by_ctypes() -> str:
    descriptor = LIBC.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", PORT, socket.inet_aton("127.0.0.1"))
    failed = LIBC.connect(descriptor, address, len(address))
    return os.strerror(ctypes.get_errno()) if failed else "connected"


def by_c_socket() -> str:
    sock = _socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    return os.strerror(sock.connect_ex(("127.0.0.1", PORT))).replace("Success", "connected")


def by_a_child() -> str:
    """By the C library: gevent's subprocess needs the main thread's hub."""
    ended = os.system(shlex.join([sys.executable, "-c", CHILD]))
    return os.strerror(os.waitstatus_to_exitcode(ended)).replace("Success", "connected")


def by_the_network_of_the_parent() -> str:
    """Into the network of the process that started this one, as root may."""
    network = os.open(f"/proc/{os.environ['OUTSIDE_PID']}/ns/net", os.O_RDONLY)
    failed = LIBC.setns(network, 0x4000_0000)
    return os.strerror(ctypes.get_errno()) if failed else "entered"


def outcome(way: object) -> str:
    try:
        return way()  # type: ignore[operator, no-any-return]
    except OSError as error:
        return str(error.strerror)


class Leaving(HttpUser):
    wait_time = constant(0.1)

    def on_start(self) -> None:
        ways = (by_ctypes, by_c_socket, by_a_child, by_the_network_of_the_parent)
        Path(os.environ["OUTCOMES"]).write_text(json.dumps({way.__name__: outcome(way) for way in ways}), encoding="utf-8")

    @task
    def work(self) -> None:
        self.client.get("/work")
