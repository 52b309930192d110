"""Which runtime a process has, and what its tools need to know of it."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from ..model.stacks import Runtime

_GO_BUILD = b"\xff Go buildinf:"
"""Begins what Go's linker writes into each program, also into stripped ones."""

_LAUNCHERS = frozenset("ash bash busybox dash docker-init dumb-init env fish sh su sudo timeout tini zsh".split())
"""Programs that start a service and do none of its work."""

_PYTHON = re.compile(r"(python|pypy)[\d.]*t?|libpython[\d.]+t?\.so.*")
_BY_FILE: tuple[tuple[re.Pattern[str], Runtime], ...] = (
    (re.compile(r"java|libjvm\.so"), "jvm"),
    (re.compile(r"node|nodejs|libnode\.so.*"), "node"),
    (_PYTHON, "python"),
)


def runtime_of(pid: int) -> Runtime | None:
    """The runtime of a process here, by its program, else by the libraries that it has mapped; None: it has ended, belongs to
    another user, or only starts others.
    """
    exe = _exe(pid)
    if exe is None or exe.name in _LAUNCHERS:
        return None
    by_name = _named(exe.name)
    if by_name is not None:
        return by_name
    if _is_go(pid):
        return "go"
    return next((found for name in _mapped(pid) if (found := _named(name)) is not None), "native")


def processes_of(roots: Iterable[int]) -> dict[Runtime, tuple[int, ...]]:
    """The living processes of these trees by runtime, parents before children."""
    found: dict[Runtime, list[int]] = {}
    for root in roots:
        for pid in (root, *_below(root)):
            runtime = runtime_of(pid)
            if runtime is not None and pid not in found.setdefault(runtime, []):
                found[runtime].append(pid)
    return {runtime: tuple(pids) for runtime, pids in found.items()}


def topmost(pids: Iterable[int]) -> tuple[int, ...]:
    """Those of which no ancestor is among them."""
    among = set(pids)
    return tuple(pid for pid in among if not any(each in among for each in _above(pid)))


def listens_at(pids: Iterable[int]) -> tuple[str, ...]:
    """`HOST:PORT`, by which this machine reaches each TCP port at which these processes listen."""
    found: dict[str, None] = {}
    for pid in pids:
        with suppress(psutil.Error, OSError):
            for each in psutil.Process(pid).net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN:
                    host = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}.get(each.laddr.ip, each.laddr.ip)
                    found[f"[{host}]:{each.laddr.port}" if ":" in host else f"{host}:{each.laddr.port}"] = None
    return tuple(found)


def cpu_s(pid: int) -> float:
    """CPU time that a process has used; 0 if it has ended."""
    try:
        used = psutil.Process(pid).cpu_times()
    except (psutil.Error, OSError):
        return 0.0
    return float(used.user + used.system)


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal, which would end it otherwise (Linux)."""
    with suppress(OSError):
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)
    return False


def _named(name: str) -> Runtime | None:
    return next((runtime for pattern, runtime in _BY_FILE if pattern.fullmatch(name)), None)


def _exe(pid: int) -> Path | None:
    try:
        return Path(psutil.Process(pid).exe())
    except (psutil.Error, OSError):
        return None


def _is_go(pid: int) -> bool:
    with suppress(OSError, ValueError), open(f"/proc/{pid}/exe", "rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as program:
            return program.find(_GO_BUILD) >= 0
    return False


def _mapped(pid: int) -> set[str]:
    """The names of the files that it has mapped."""
    with suppress(psutil.Error, OSError):
        return {Path(each.path).name for each in psutil.Process(pid).memory_maps()}
    return set()


def _below(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [each.pid for each in psutil.Process(pid).children(recursive=True)]
    return []


def _above(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [each.pid for each in psutil.Process(pid).parents()]
    return []
