"""Which runtimes' stacks can be sampled on this machine, and why not."""

from __future__ import annotations

import os

import msgspec

from ..model.stacks import Runtime
from . import native, node, python


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """What samples one runtime's stacks."""

    runtime: Runtime
    name: str
    why: str | None = None
    """Why it cannot work here; None: it can."""
    needs: str = ""
    """What it demands of the service."""


def tools() -> tuple[Tool, ...]:
    """One for each runtime. What is wrong with a single service is known when it is sampled."""
    same_user = "" if os.geteuid() == 0 else "runs as the same user"
    return (
        Tool(runtime="python", name="py-spy", why=python.why_not(), needs=same_user),
        Tool(runtime="go", name="net/http/pprof", needs="serves /debug/pprof; without it perf, CPU alone"),
        Tool(runtime="jvm", name="thread dumps", needs=same_user),
        Tool(runtime="node", name="inspector", why=node.why_not(), needs=same_user),
        Tool(runtime="native", name="perf", why=native.why_not(), needs="is built with frame pointers; CPU alone"),
    )
