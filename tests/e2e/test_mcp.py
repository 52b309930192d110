"""`capexplorer mcp` as an agent starts it: a service is explored, and no run outlives the server."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kit.servers import http_server

from capexplorer.session.catalog import list_sessions
from lab.kit.runs import PROGRAM, MarkedEnvironment, wait_until

if TYPE_CHECKING:
    from kit.agent import Agent

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("mcp") is None, reason="pip install 'capexplorer[mcp]'")]


@asynccontextmanager
async def server_process(sessions: Path, marked: MarkedEnvironment) -> AsyncIterator[Agent]:
    """The real command, as a client starts it."""
    from kit.agent import Agent  # each worker imports this file, and this takes a second
    from mcp import Client, StdioServerParameters, stdio_client

    arguments = ["--sessions-dir", str(sessions), "mcp", "--max-seconds", "60"]
    command = StdioServerParameters(command=PROGRAM, args=arguments, env=dict(marked.environment), cwd=sessions)
    async with Client(stdio_client(command)) as client:
        yield Agent(client)


async def followed_to_its_end(agent: Agent, session: str) -> list[dict[str, Any]]:
    found = await agent.data("follow", session=session)
    levels: list[dict[str, Any]] = found["levels"]
    while found["running"]:
        found = await agent.data("follow", session=session, since=found["next"], wait_s=10)
        levels += found["levels"]
    return levels


async def test_a_service_is_explored_by_the_real_command(tmp_path: Path) -> None:
    marked = MarkedEnvironment()
    with http_server() as service:
        async with server_process(tmp_path, marked) as agent:
            session = (await agent.data("run", url=f"{service.url}/items", plan="1:4s,2:4s", label="first"))["session"]
            assert await agent.refusal("run", url=service.url, plan="1:2s"), "one run at a time"
            levels = await followed_to_its_end(agent, session)
            assert [level["users"] for level in levels] == [1, 2]
            assert agent.progress, "progress is reported while a call waits"
            verdict = await agent.data("verdict", session=session, whole=True)
            assert (verdict["session"]["label"], verdict["session"]["complete"]) == ("first", True)
            assert {request.path for request in service.requests} >= {"/items"}
            other = (await agent.data("run", url=service.url, plan="1:50s"))["session"]
            assert (await agent.data("stop", session=other))["session"] == other
            compared = await agent.data("compare", sessions=[session, other])
            assert compared["comparisons"]
    marked.assert_no_process_left()


@pytest.mark.parametrize("how", ["closed", "SIGTERM", "SIGKILL"])
async def test_a_run_ends_with_the_server_and_is_saved(how: str, tmp_path: Path) -> None:
    marked = MarkedEnvironment()
    with http_server() as service:
        ended = False
        try:
            async with server_process(tmp_path, marked) as agent:
                session = (await agent.data("run", url=service.url, plan="1:50s"))["session"]
                if how != "closed":
                    (pid,) = marked.pids(f"{PROGRAM} --sessions-dir")
                    os.kill(pid, getattr(signal, how))
                ended = True
        except ExceptionGroup:  # the client's: its server is gone
            if not ended:
                raise
    marked.assert_no_process_left()
    (entry,) = wait_until(lambda: list_sessions([tmp_path]), "the session")
    assert (entry.id, entry.complete) == (session, True)
