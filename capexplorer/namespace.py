"""A network namespace of the session's own: its port range, its tcp_tw_reuse, its somaxconn, with loopback and nothing else.

For `[limits]` of the network, and for `--sandbox`, which keeps load on loopback for any locustfile, because no other
interface exists.

This process itself enters the namespace (unshare(2)): terminal, signals, working folder and exit code do not change, and
processes that it starts later are inside too. The kernel allows that while there is one thread, so `enter` comes before anything
with threads (numpy, gevent) is imported. The host's settings are never touched. Must not import anything heavy.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from .errors import InputError
from .model.limits import NetworkLimits

_NEW_NETWORK = 0x4000_0000
_NEW_USERS = 0x1000_0000
"""CLONE_NEWNET, CLONE_NEWUSER."""

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
"""SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP."""

_KEYS = {
    "ip_local_port_range": "net/ipv4/ip_local_port_range",
    "tcp_tw_reuse": "net/ipv4/tcp_tw_reuse",
    "somaxconn": "net/core/somaxconn",
}


LIMITS, SANDBOX = "limits.network", "--sandbox"
"""The options that require a namespace, as messages name them."""


_TEST = """
import sys
from capexplorer import errors, model, namespace
try:
    namespace.enter(model.limits.NetworkLimits(somaxconn=128))
except errors.InputError as error:
    sys.exit(str(error).partition(": ")[2])
"""
"""Prints why `enter` is refused, without the key."""


def is_wanted(limits: NetworkLimits, *, sandbox: bool = False) -> bool:
    """Whether one of the options requires a namespace."""
    return sandbox or any(getattr(limits, name) is not None for name in _KEYS)


def enter(limits: NetworkLimits, *, sandbox: bool = False) -> bool:
    """Move this process into a network namespace with these limits; False, without any effect, if neither option requires one.

    `sandbox`: also without limits, and with a user namespace around it even for root, who could otherwise go back (setns(2)).
    Raises InputError if the kernel does not allow it: the process must then end, because the move may be incomplete.
    """
    if not is_wanted(limits, sandbox=sandbox):
        return False
    wanted = {name: value for name in _KEYS if (value := getattr(limits, name)) is not None}
    named_by = SANDBOX if sandbox else LIMITS
    if sys.platform != "linux":
        raise InputError(f"{named_by}: needs Linux: only Linux can give a session its own network namespace")
    try:
        _unshare(with_users=sandbox)
        _raise_loopback()
    except OSError as error:
        raise _not_allowed(named_by, error, as_root=not sandbox) from None
    for name, value in wanted.items():
        _set(name, value)
    return True


def refusal() -> str | None:
    """Why `enter` would fail on this machine; None if it works. Tested in a separate process that ends at once."""
    done = subprocess.run([sys.executable, "-P", "-c", _TEST], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode == 0:
        return None
    return done.stderr.strip().rpartition("\n")[2] or "the test could not be run"


def _unshare(*, with_users: bool) -> None:
    """A network namespace alone where that is allowed; else, or `with_users`, in a user namespace that keeps our user."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError(
            "a process with threads cannot enter a user namespace: a module that starts threads was imported too early"
        )
    user, group = os.geteuid(), os.getegid()
    if not with_users and _try(_NEW_NETWORK) == 0:
        return
    refused = _try(_NEW_USERS | _NEW_NETWORK)
    if refused:
        raise OSError(refused, os.strerror(refused))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def _try(namespaces: int) -> int:
    """0, or the errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.unshare(namespaces) == 0 else ctypes.get_errno() or errno.EPERM


def _raise_loopback() -> None:
    """Raises OSError: a security module may grant the user namespace and deny what it is for."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _change_flags(any_socket.fileno(), b"lo")


def _change_flags(descriptor: int, interface: bytes) -> None:
    import fcntl

    asked = struct.pack("16sh14x", interface, 0)
    flags = struct.unpack_from("16sh", fcntl.ioctl(descriptor, _GET_FLAGS, asked))[1]
    fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("16sh14x", interface, flags | _UP))


def _set(name: str, value: int | tuple[int, int]) -> None:
    text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    try:
        Path("/proc/sys", _KEYS[name]).write_text(text, encoding="ascii")
    except OSError as error:
        why = f"the kernel refuses {text}: {error.strerror}"
        if error.errno == errno.EROFS:
            setting = f"{_KEYS[name].replace('/', '.')}={text}"
            why = f"/proc/sys is read-only, as containers have it: start the container with `--sysctl '{setting}'` instead"
        raise InputError(f"limits.network.{name}: {why}") from None


def _not_allowed(named_by: str, error: OSError, *, as_root: bool) -> InputError:
    reason = "none is left" if error.errno == errno.ENOSPC else error.strerror
    root = "run as root, or " if as_root else ""
    return InputError(
        f"{named_by}: no network namespace is allowed here ({reason}): {root}allow user namespaces"
        " (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    )
