"""The tools: what an agent may ask for, and what it gets. The server's instructions say what the words mean."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

import anyio
import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from ... import wording
from ...addresses import is_http_url, without_userinfo
from ...errors import InputError
from ...model.catalogue import ENTRIES
from ...model.events import Mark
from ...model.timeline import Timeline
from ...profile import METHODS
from ...replay import Replay
from ...report.compare import compare
from ...report.compare.json import document
from ...report.summary import level_entries, summarise
from ...session.catalog import being_recorded, list_sessions
from ...session.reader import open_session
from ...toml import shown
from ..compare import locate, read
from ..doctor import examine
from ..profiles import length_s, row
from ..run.arguments import RunArguments
from ..sessions import rows
from ..shared_options import words
from .guards import Guards
from .runs import POLL_S, Runs, now

READY_WITHIN_S = 40.0
"""Clients wait 60 s for an answer, or less; `follow` shows how a slow start goes on."""

Report = Callable[[float, str], Awaitable[None]]
"""Sends (seconds of the session, what is done now) while a call waits."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the arguments of a tool."""


Session = Annotated[str, Meta(max_length=200)]
Moment = Annotated[str, Meta(pattern=r"(?#`next` of the last answer)^[0-9]{1,9}-[0-9]{1,9}$")]
"""How many levels have ended, and how many marks were made: times of events are not in order."""
START = "0-0"
Request = Annotated[str, Meta(max_length=10_000, pattern=rf"(?#METHOD /PATH or METHOD /PATH BODY)^({'|'.join(METHODS)}) /")]
"""With its method: a path alone may be that of a file."""


class ForProfile(Asked, frozen=True, kw_only=True):
    """Arguments of doctor."""

    profile: str | None = None
    """A name of `profiles`; without it: 2,000 users that keep their connections."""


class Nothing(Asked, frozen=True, kw_only=True):
    """Arguments of profiles."""


class Newest(Asked, frozen=True, kw_only=True):
    """Arguments of sessions."""

    most: Annotated[int, Meta(ge=1, le=200)] = 20
    """How many, the newest first."""


class ToRun(Asked, frozen=True, kw_only=True):
    """Arguments of run. One of profile, url and command; plan, autopilot or require."""

    profile: str | None = None
    """A name of `profiles`, or a path of a .toml below an allowed folder."""
    url: str | None = None
    """URL of a running service, on loopback unless other hosts are allowed; its path is what users request."""
    command: str | None = None
    """A command that starts the service, with {port} for a free port. Only if the server was started with --allow-commands."""
    requests: Annotated[tuple[Request, ...], Meta(max_length=20)] = ()
    """With url or command: what users request, such as "GET /items" or "POST /orders {\\"item\\": 1}"."""
    plan: Annotated[str, Meta(max_length=10_000)] | None = None
    """Name of a plan of the profile, or its text: "1:5s,10:20s,50:20s" holds 1, 10 and 50 users; "100/s:20s" offers a rate. Hold
    each for 10 s or more: a level settles first."""
    autopilot: Literal["users", "rate"] | None = None
    """`users` finds and verifies the knee, in minutes; `rate` the capacity as an offered rate."""
    require: Annotated[tuple[Annotated[str, Meta(max_length=200)], ...], Meta(max_length=20)] = ()
    """What the service must do: "capacity >= 100/s", "knee >= 40", "p95 <= 300ms @ 50 users", "failures <= 0.1% @ 80/s". The run
    goes to the loads that decide it and ends then; `verdict` has the answers in `requirements`."""
    within: Annotated[str, Meta(max_length=20)] | None = None
    """Time in which `require` is to be decided, such as "3m"; default 5m. A percentile takes 2 minutes or more."""
    settings: dict[str, str | int | float | bool] = {}
    """Parameters of the target or the profile, by name."""
    label: Annotated[str, Meta(max_length=200)] | None = None
    """A label of the session, such as the build."""
    seconds: Annotated[float, Meta(gt=0)] | None = None
    """End it after so many seconds, at most the server's bound, which is the default."""


class ToFollow(Asked, frozen=True, kw_only=True):
    """Arguments of follow."""

    session: Session
    """Id of a run, or `last`."""
    since: Moment = START
    """Only news after this moment: `next` of the last answer; without it all news."""
    wait_s: Annotated[float, Meta(ge=0, le=50)] = 20.0
    """Wait so long for a new level, mark or the end."""


class OfSession(Asked, frozen=True, kw_only=True):
    """Arguments of stop."""

    session: Session
    """Id of a run that this server started, or `last`."""


class ForVerdict(Asked, frozen=True, kw_only=True):
    """Arguments of verdict."""

    session: Session
    """An id or unique part of it or of a title, `last`, `last-1`, or a sample."""
    whole: bool = False
    """True: the whole document of `capexplorer export --format json`, with all levels and endpoints; else without those."""


class ToExplain(Asked, frozen=True, kw_only=True):
    """Arguments of explain."""

    session: Session
    """As of `verdict`."""
    mark: Annotated[str, Meta(max_length=500)]
    """`key` or `id` of a mark, from `follow` or `verdict`."""


class ToCompare(Asked, frozen=True, kw_only=True):
    """Arguments of compare."""

    sessions: Annotated[tuple[Session, ...], Meta(min_length=2, max_length=5)]
    """The first is the baseline. ID#1 is one epoch of a session."""
    whole: bool = False
    """True: the whole document of `capexplorer compare --format json`; else without the figures of each level."""


_LONG = ("levels", "endpoints", "notes", "conventions")
"""Keys of the export that are left out unless the whole is asked for."""
_LONG_OF_PAIR, _LONG_OF_COMPARISON = ("levels", "rates"), ("sessions", "conventions")


class Tools:
    """Each public method is a tool; its docstring tells an agent when to use it."""

    def __init__(self, guards: Guards) -> None:
        self._guards, self._runs = guards, Runs(guards.runs)

    def close(self) -> None:
        """Ask the runs that were started to end."""
        self._runs.close()

    async def doctor(self, asked: ForProfile, report: Report) -> Any:
        """Before a run: which limits of this machine would stop it (descriptors, ports, cores), at which load, and how to raise
        them. States: ok; bounds: limits at the load in `bounds_at`; missing: the run cannot start; unavailable: not known."""
        if asked.profile is None:
            return {"checks": [asdict(each) for each in examine(None, "")]}
        path, found = self._guards.profile(asked.profile)
        return {"checks": [asdict(each) for each in examine(found, str(path))]}

    async def profiles(self, asked: Nothing, report: Report) -> Any:
        """Which profiles `run` accepts: what each explores (`target`), its plans and their lengths, and what is wrong with it."""
        return {"profiles": [row(name, path) for name, path in self._guards.profiles().items()]}

    async def sessions(self, asked: Newest, report: Report) -> Any:
        """Saved sessions, the newest first, each with its verdict; `recording` says whether it is still being written."""
        entries = list_sessions(self._guards.sessions)[: asked.most]
        return {"sessions": rows(entries)}

    async def run(self, asked: ToRun, report: Report) -> Any:
        """Load a service by a plan, the autopilot, or until requirements are decided. Returns the session's id as soon as
        the service is ready; `follow` shows the progress, `verdict` the result. A plan takes as long as its steps, the others
        minutes. A run ends with this server."""
        most_s = min(asked.seconds or math.inf, self._guards.max_seconds)
        log = await self._runs.start(words(self._arguments(asked, most_s)), most_s, READY_WITHIN_S)
        return {"session": log.stem, "ends_within_s": most_s}

    async def follow(self, asked: ToFollow, report: Report) -> Any:
        """What is new in a run since a moment: levels that ended, marks, verdict and answers so far, whether it goes on. Waits
        up to `wait_s` for news. Call it again with `since` = `next` until `running` is false."""
        path = self._guards.session(asked.session)
        log = Replay(path, follow=True)
        try:
            timeline = now(log)
            with anyio.move_on_after(asked.wait_s):
                while self._goes_on(path, timeline) and (timeline.ended is not None or _moment(timeline) == asked.since):
                    await report(timeline.last_s, wording.under_way(timeline))
                    await anyio.sleep(POLL_S)
                    timeline = now(log)
            return self._progress(timeline, asked.since, path)  # of an open level, seconds are read now
        finally:
            log.close()

    async def stop(self, asked: OfSession, report: Report) -> Any:
        """End a run that this server started, and wait until its session is saved."""
        path = self._guards.session(asked.session)
        run = self._runs.of(path)
        if run is None:
            raise InputError(f"stop: {path.stem} was not started by this server")
        run.ask_to_end()
        await run.wait()
        return {"session": path.stem, "exit_code": run.exit_code}

    async def verdict(self, asked: ForVerdict, report: Report) -> Any:
        """The result of a session: a sentence (`verdict`), knees and rates with their intervals, causes of failures, bottlenecks,
        objectives. The keys are those of `capexplorer schema export`."""
        found = summarise(_timeline(self._guards.session(asked.session)))
        return found if asked.whole else {key: value for key, value in found.items() if key not in _LONG}

    async def explain(self, asked: ToExplain, report: Report) -> Any:
        """A mark of a session in full: what it means, which readings confirm it, what else could explain them, what to do."""
        timeline = _timeline(self._guards.session(asked.session))
        marks = wording.current_marks(timeline)
        found = [mark for mark in marks.values() if asked.mark in (mark.key, mark.id)]
        if not found:
            raise InputError(f"mark: no `{asked.mark[:60]}` in {asked.session}; it has: {', '.join(marks) or 'none'}")
        return {"marks": [_explained(mark, timeline) for mark in found]}

    async def compare(self, asked: ToCompare, report: Report) -> Any:
        """Whether two or more sessions differ beyond noise: knee, capacity, and over all loads in common. `sure`: claimed with at
        most 5% false among all claims. The keys are those of `capexplorer schema compare`."""
        read_now = []
        for name in asked.sessions:
            self._guards.session(name.partition("#")[0])
            read_now.append(read(*locate(name, self._guards.sessions))[0])
        found = document(compare(read_now))
        if asked.whole:
            return found
        pairs = [{key: value for key, value in pair.items() if key not in _LONG_OF_PAIR} for pair in found["comparisons"]]
        return {key: value for key, value in found.items() if key not in _LONG_OF_COMPARISON} | {"comparisons": pairs}

    # -- a run

    def _arguments(self, asked: ToRun, most_s: float) -> RunArguments:
        """Raises InputError: not allowed here."""
        guards = self._guards
        if sum(each is not None for each in (asked.profile, asked.url, asked.command)) != 1:
            raise InputError("run: expected one of profile, url and command")
        path, found = (None, None) if asked.profile is None else guards.profile(asked.profile)
        if asked.plan is not None and asked.autopilot is not None:
            raise InputError("run: expected either plan or autopilot")
        if not (asked.plan or asked.autopilot or asked.require or (found is not None and found.require.all)):
            raise InputError("run: expected plan, autopilot or require")
        if asked.command is not None and not guards.allow_commands:
            raise InputError("run: command: not allowed here: the server was started without --allow-commands")
        plan = asked.plan if found is None or asked.plan is None else found.plans.get(asked.plan, asked.plan)
        most_users = guards.max_users if found is None else min(guards.max_users, found.guards.max_users)
        if plan is not None and (length_s(plan, most_users) or 0.0) > most_s:
            raise InputError(f"run: plan: takes longer than the {most_s:g} s that are allowed here (--max-seconds)")
        host, requests = (None, asked.requests) if asked.url is None else _service(asked.url, asked.requests)
        return RunArguments(
            headless=True,
            profile=None if path is None else str(path),
            host=host,
            target_cmd=asked.command,
            requests=requests,
            plan=asked.plan,
            autopilot=asked.autopilot,
            requirements=asked.require,
            within=asked.within,
            settings=tuple(f"{name}={_as_typed(value)}" for name, value in asked.settings.items()),
            label=asked.label,
            max_users=guards.max_users,
            allow_hosts=guards.allow_hosts,
            sessions_dir=guards.sessions[0],
        )

    def _progress(self, timeline: Timeline, since: str, path: Path) -> dict[str, Any]:
        ended = timeline.ended
        levels, marks = map(int, since.split("-"))
        return {
            "session": path.stem,
            "running": self._goes_on(path, timeline),
            "now_s": round(timeline.last_s, 3),
            "next": _moment(timeline),
            "doing": wording.under_way(timeline) if ended is None else "",
            "levels": _levels_after(levels, timeline),
            "marks": [_told(mark) for mark in _made(timeline)[marks:]],
            "answers": [wording.answer(each) for each in timeline.answers],
            "verdict": wording.verdict(timeline),
            "ended": None if ended is None else {"reason": ended.reason, "signal": ended.signal, "exit_code": ended.exit_code},
        }

    def _goes_on(self, path: Path, timeline: Timeline) -> bool:
        run = self._runs.of(path)
        return run.exit_code is None if run is not None else being_recorded(path, complete=timeline.ended is not None)


def _as_typed(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _service(url: str, requests: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """A running service, and what users request: its path, where nothing else is asked for."""
    if not is_http_url(url):
        raise InputError(f"run: url: expected http://HOST[:PORT][/PATH], got {shown(without_userinfo(url))}")
    parts = urlsplit(url)
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    if requests and path != "/":
        raise InputError(f"run: url: expected a URL without a path beside requests, got {shown(without_userinfo(url))}")
    return f"{parts.scheme}://{parts.netloc}", requests or (f"GET {path}",)


def _timeline(path: Path) -> Timeline:
    with open_session(path) as log:
        return Timeline(log)


# -- what is new

_OF_LEVEL = (
    "index", "epoch", "users", "kind", "offered", "started_s", "ended_s", "settled", "requests", "failures", "failure_ratio",
    "goodput_rps", "goodput_se_rps", "latency_ms", "tokens_per_s", "stages", "held", "service_state",
)  # fmt: skip
"""Keys of a level in the export that `follow` shows."""


def _moment(timeline: Timeline) -> str:
    return f"{sum(level.closed is not None for level in timeline.levels)}-{len(_made(timeline))}"


def _made(timeline: Timeline) -> list[Mark]:
    """All revisions of marks, in the order in which they were made."""
    return [event for event in timeline.journal if isinstance(event, Mark)]


def _levels_after(ended: int, timeline: Timeline) -> list[dict[str, Any]]:
    """The levels that ended after so many, bins of ramps included."""
    new = {level.opened.index for level in [level for level in timeline.levels if level.closed is not None][ended:]}
    return [
        {key: each[key] for key in _OF_LEVEL if key in each}
        for each in (level_entries(timeline) if new else ())
        if each["index"] in new
    ]


def _told(mark: Mark) -> dict[str, Any]:
    return {
        "key": mark.key,
        "id": mark.id,
        "t_s": mark.t_s,
        "state": mark.state,
        "severity": mark.severity,
        "sentence": wording.short_sentence(mark),
    }


def _explained(mark: Mark, timeline: Timeline) -> dict[str, Any]:
    entry = ENTRIES.get(mark.id)
    return {
        **_told(mark),
        "kind": mark.kind,
        "confidence": mark.confidence,
        "in_full": wording.mark(mark, timeline.header),
        "evidence": mark.finding.figures(),
        "doubts": wording.doubts(mark.finding),
        "advice": wording.advice(mark.finding, timeline.header),
        "catalogue": {name: getattr(entry, name, None) for name in ("where", "name", "symptom", "confirmed")},
    }
