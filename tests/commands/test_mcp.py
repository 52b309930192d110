"""`capexplorer mcp`: its tools, by the library's own client, and what they refuse."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from kit.scenario import Scenario

from capexplorer import cli, paths
from capexplorer.commands.mcp.guards import Guards
from capexplorer.commands.run import Run
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.shared_options import parameters
from capexplorer.model.events import Answered
from capexplorer.model.requirements import KneeRequired, unanswered
from capexplorer.report.formats import FORMATS
from capexplorer.session.catalog import list_sessions
from capexplorer.session.reader import open_session
from capexplorer.wording import answer

pytest.importorskip("mcp", reason="pip install 'capexplorer[mcp]'")

from kit.agent import Agent
from mcp import Client

from capexplorer.commands.mcp import serving
from capexplorer.commands.mcp.runs import Runs

PROFILE = """
url = "http://127.0.0.1:1"
users.task = [{ name = "/" }]
plans.short = "1:2s"
"""
ELSEWHERE = PROFILE.replace("127.0.0.1:1", "db.example") + 'guards.allow_hosts = ["db.example"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    (folder / "inside").mkdir(parents=True)
    for name in ("own", "inside/deep"):
        (folder / f"{name}.toml").write_text(PROFILE)
    (folder / "elsewhere.toml").write_text(ELSEWHERE)
    (tmp_path / "outside.toml").write_text(PROFILE)
    (folder / "link.toml").symlink_to(tmp_path / "outside.toml")
    (tmp_path / "sessions").mkdir()
    return folder


@pytest.fixture
def guards(folder: Path) -> Guards:
    return Guards(
        folders=(folder,),
        sessions=(folder.parent / "sessions",),
        allow_hosts=(),
        allow_commands=False,
        max_users=20,
        max_seconds=30.0,
        runs=1,
    )


@pytest.fixture
async def agent(guards: Guards) -> AsyncIterator[Agent]:
    async with Client(serving.server_of(guards)) as client:
        yield Agent(client)


async def test_each_tool_has_a_description_and_a_typed_schema_whose_fields_are_described(agent: Agent) -> None:
    tools = (await agent.client.list_tools()).tools
    assert {tool.name for tool in tools} == {
        "doctor", "profiles", "sessions", "run", "follow", "stop", "verdict", "explain", "compare",
    }  # fmt: skip
    for tool in tools:
        assert tool.description
        assert (tool.input_schema["type"], tool.input_schema["additionalProperties"]) == ("object", False)
        for name, field in tool.input_schema["properties"].items():
            assert field.get("description"), f"{tool.name}: {name}"
    assert [tool.name for tool in tools if not (tool.annotations and tool.annotations.read_only_hint)] == ["run", "stop"]


async def test_the_verdict_is_the_export_and_without_the_whole_a_part_of_it(agent: Agent) -> None:
    with open_session(paths.sample_sessions()["sample"]) as log:
        exported = json.loads(FORMATS["json"].to_text(log))
    assert await agent.data("verdict", session="sample", whole=True) == exported
    part = await agent.data("verdict", session="sample")
    assert part.items() < exported.items()
    assert {"verdict", "knees", "causes"} <= set(part)


async def test_a_mark_is_explained_by_its_key_or_id(agent: Agent) -> None:
    cause = (await agent.data("verdict", session="sample-ports"))["causes"][0]
    (mark,) = (await agent.data("explain", session="sample-ports", mark=cause["id"]))["marks"]
    assert mark["advice"] == cause["advice"]
    assert mark["evidence"]["count"] == cause["count"]
    assert mark["catalogue"]["symptom"]
    assert mark["doubts"] == ""
    assert (await agent.data("explain", session="sample-ports", mark=mark["key"]))["marks"] == [mark]
    assert mark["key"] in await agent.refusal("explain", session="sample-ports", mark="no-such-mark")


async def test_a_comparison_is_that_of_the_command(agent: Agent, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    pair = ("sample", "sample-4-threads")
    assert cli.run(["compare", *pair, "--format", "json"]) == 0
    printed = json.loads(capfdbinary.readouterr().out)
    assert await agent.data("compare", sessions=pair, whole=True) == printed
    part = await agent.data("compare", sessions=pair)
    assert part["verdict"] == printed["verdict"]
    assert part["comparisons"][0].items() < printed["comparisons"][0].items()


async def test_sessions_profiles_and_doctor_are_lists_of_what_the_commands_show(agent: Agent, guards: Guards) -> None:
    shutil.copy(paths.sample_sessions()["sample"], guards.sessions[0] / "a.jsonl")
    assert [row["id"] for row in (await agent.data("sessions"))["sessions"]] == ["a"]
    profiles = {row["name"]: row for row in (await agent.data("profiles"))["profiles"]}
    assert profiles["own"]["plans"] == {"short": "1:2s"}
    assert profiles["mixed"]["target"] == "mixed"
    assert {check["state"] for check in (await agent.data("doctor", profile="own"))["checks"]} <= {
        "ok", "bounds", "missing", "unavailable",
    }  # fmt: skip


async def test_the_progress_of_a_saved_session_is_what_came_after_a_moment(agent: Agent) -> None:
    whole = await agent.data("follow", session="sample")
    assert (whole["running"], bool(whole["levels"]), bool(whole["marks"])) == (False, True, True)
    later = await agent.data("follow", session="sample", since="3-1")
    assert (later["levels"], later["marks"]) == (whole["levels"][3:], whole["marks"][1:])
    assert later["next"] == whole["next"]
    nothing = await agent.data("follow", session="sample", since=whole["next"])
    assert (nothing["levels"], nothing["marks"]) == ([], [])
    assert await agent.refusal("follow", session="sample", since="yesterday")


async def test_a_run_whose_level_is_open_is_followed_and_judged(agent: Agent, guards: Guards) -> None:
    lines = paths.sample_sessions()["sample"].read_bytes().splitlines(keepends=True)
    in_level = [number for number, line in enumerate(lines) if line.startswith(b'{"type":"sample"') and b'"settled":true' in line]
    (guards.sessions[0] / "open.jsonl").write_bytes(b"".join(lines[: in_level[len(in_level) // 2]]))
    found = await agent.data("follow", session="open", wait_s=0)
    assert (found["running"], found["ended"], bool(found["levels"])) == (True, None, True)
    assert found["verdict"] == (await agent.data("verdict", session="open"))["verdict"]


REFUSED: dict[str, tuple[Callable[[Path], dict[str, Any]], str]] = {
    "a profile elsewhere": (lambda folder: {"profile": str(folder.parent / "outside.toml"), "plan": "1:2s"}, "--folder"),
    "a profile above": (lambda folder: {"profile": "../outside.toml", "plan": "1:2s"}, "--folder"),
    "a link to a profile elsewhere": (lambda folder: {"profile": "link", "plan": "1:2s"}, "--folder"),
    "a profile that is none": (lambda folder: {"profile": "no-such", "plan": "1:2s"}, "no-such"),
    "a profile whose load goes elsewhere": (lambda folder: {"profile": "elsewhere", "plan": "1:2s"}, "--allow-host db.example"),
    "a command": (lambda folder: {"command": "touch made", "plan": "1:2s"}, "--allow-commands"),
    "a service elsewhere": (lambda folder: {"url": "http://service.example/", "plan": "1:2s"}, "--allow-host service.example"),
    "a service of another scheme": (lambda folder: {"url": "file:///etc/passwd", "plan": "1:2s"}, "url"),
    "a path beside requests": (lambda folder: {"url": "http://127.0.0.1:1/a", "requests": ["GET /b"], "plan": "1:2s"}, "url"),
    "a file as requests": (
        lambda folder: {"url": "http://127.0.0.1:1", "requests": [f"{folder}/own.toml"], "plan": "1:2s"},
        "METHOD",
    ),
    "no service": (lambda folder: {"plan": "1:2s"}, "profile, url and command"),
    "two services": (lambda folder: {"url": "http://127.0.0.1:1", "profile": "own", "plan": "1:2s"}, "profile, url and command"),
    "no load": (lambda folder: {"profile": "own"}, "plan, autopilot or require"),
    "two loads": (lambda folder: {"profile": "own", "plan": "1:2s", "autopilot": "users"}, "plan or autopilot"),
    "too many users": (lambda folder: {"profile": "own", "plan": "21:2s"}, "guards.max_users (20)"),
    "too long a plan": (lambda folder: {"profile": "own", "plan": "1:20s,2:20s"}, "--max-seconds"),
    "an option in a value": (lambda folder: {"profile": "own", "plan": "--target-cmd=touch made"}, "--plan"),
    "an unknown argument": (lambda folder: {"profile": "own", "plan": "1:2s", "target_cmd": "touch made"}, "target_cmd"),
}
"""By what is not allowed: the arguments, and what the refusal names."""


@pytest.mark.parametrize("why", REFUSED)
async def test_a_run_that_is_not_allowed_is_refused_in_one_line(
    why: str, agent: Agent, guards: Guards, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    arguments, named = REFUSED[why]
    assert named in await agent.refusal("run", **arguments(folder))
    assert list_sessions(guards.sessions) == []
    assert not (folder / "made").exists()


class FakeRun:
    """A run without a process, whose log is there."""

    path: Path
    closed = False

    def __init__(self, words: Sequence[str], most_s: float) -> None:
        self.exit_code: int | None = None

    def ask_to_end(self) -> None:
        self.exit_code = 143

    async def wait(self) -> None: ...

    def close(self) -> None:
        FakeRun.closed = True


async def test_a_run_is_followed_and_stopped_and_those_that_go_on_are_closed_with_the_server(
    guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Scenario().ready().level(users=2, rps=10).add(Answered(t_s=99.0, answers=(unanswered(KneeRequired(4)),)))
    FakeRun.path = guards.sessions[0] / "a.jsonl"
    log.write(FakeRun.path)
    monkeypatch.setattr("capexplorer.commands.mcp.runs.AgentRun", FakeRun)
    async with Client(serving.server_of(guards)) as client:
        agent = Agent(client)
        assert serving.DATA in str(client.instructions)
        assert (await agent.data("run", profile="own", plan="1:2s"))["session"] == "a"
        assert "`stop`" in await agent.refusal("run", profile="own", plan="1:2s")
        found = await agent.data("follow", session="a", wait_s=0)
        assert set(found) == {
            "session", "running", "now_s", "next", "doing", "levels", "marks", "answers", "verdict", "ended",
        }  # fmt: skip
        assert (found["running"], found["now_s"], found["next"]) == (True, log.t_s, "1-0")
        assert found["answers"] == [answer(unanswered(KneeRequired(4)))]
        assert await agent.data("stop", session="a") == {"session": "a", "exit_code": 143}
        assert not (await agent.data("follow", session="a"))["running"]
        assert (await agent.data("run", profile="own", plan="1:2s"))["session"] == "a", "one that has ended does not count"
        assert not FakeRun.closed
    assert FakeRun.closed


async def test_a_run_that_is_allowed_is_a_command_with_the_guards(
    agent: Agent, guards: Guards, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[RunArguments] = []

    async def start(runs: Runs, words: Sequence[str], most_s: float, within_s: float) -> Path:
        assert most_s <= guards.max_seconds
        with Run("run", params=parameters(RunArguments)).make_context("run", list(words)) as context:
            started.append(RunArguments(**context.params))
        return Path("a.jsonl")

    monkeypatch.setattr(Runs, "start", start)
    assert await agent.data("run", profile="own", plan="short") == {"session": "a", "ends_within_s": guards.max_seconds}
    await agent.data("run", profile="inside/deep.toml", require=["knee >= 4"], within="1m", seconds=5)
    await agent.data("run", url="http://127.0.0.1:8000/etc?a=b", autopilot="users", label="--sandbox")
    own, deep, url = started
    assert all((each.headless, each.max_users, each.allow_hosts) == (True, guards.max_users, ()) for each in started)
    assert all((each.sessions_dir, each.target_cmd) == (guards.sessions[0], None) for each in started)
    assert (own.profile, own.plan) == (str(folder / "own.toml"), "short")
    assert (deep.profile, deep.requirements, deep.within) == (str(folder / "inside/deep.toml"), ("knee >= 4",), "1m")
    assert (url.host, url.requests, url.label) == ("http://127.0.0.1:8000", ("GET /etc?a=b",), "--sandbox")


async def test_a_run_whose_call_is_cancelled_ends(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, asked_to_end = anyio.Event(), anyio.Event()

    class StartingRun:
        exit_code = None

        def __init__(self, words: Sequence[str], most_s: float) -> None: ...

        @property
        def path(self) -> None:
            waits.set()

        def ask_to_end(self) -> None:
            asked_to_end.set()

        def close(self) -> None: ...

    monkeypatch.setattr("capexplorer.commands.mcp.runs.AgentRun", StartingRun)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(agent.call, "run", profile="own", plan="1:2s"))
        await waits.wait()
        group.cancel_scope.cancel()
    assert asked_to_end.is_set()


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "a.jsonl", "no-such-session"])
async def test_a_session_is_named_by_its_id(name: str, agent: Agent) -> None:
    for tool in ("verdict", "follow", "stop"):
        assert await agent.refusal(tool, session=name)
    assert await agent.refusal("explain", session=name, mark="x")
    assert await agent.refusal("compare", sessions=["sample", name])


async def test_a_run_of_somebody_else_is_not_stopped(agent: Agent) -> None:
    assert "sample" in await agent.refusal("stop", session="sample")


async def test_an_unknown_tool_is_refused_in_one_line(agent: Agent) -> None:
    assert "`verdict`" in await agent.refusal("verdicts")


def test_a_long_text_is_cut_wherever_it_is() -> None:
    found = serving.bounded({"a": ["x" * 5_000], "k" * 5_000: 1})
    assert len(found["a"][0]) < 2 * serving.TEXT_MOST
    assert max(map(len, found)) < 2 * serving.TEXT_MOST


async def test_a_long_error_is_cut(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = await agent.refusal("verdict", session="no-such-session")
    monkeypatch.setattr(serving, "TEXT_MOST", 10)
    assert (await agent.refusal("verdict", session="no-such-session")).startswith(f"{whole[:10]}…")


async def test_a_result_that_is_too_large_is_refused(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "RESULT_MOST_BYTES", 5_000)
    assert await agent.refusal("verdict", session="sample", whole=True)
    assert await agent.data("verdict", session="sample")
