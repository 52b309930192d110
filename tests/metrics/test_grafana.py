"""Annotations, as a server with Grafana's API for them gets them; and the dashboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from kit.scenario import HEADER, Scenario
from kit.servers import HttpServer, Reply, Request, http_server
from msgspec.structs import replace

from capexplorer.metrics.dashboard import dashboard
from capexplorer.metrics.following import FollowedSession
from capexplorer.metrics.grafana import GrafanaReceiver
from capexplorer.metrics.table import METRICS
from capexplorer.model.events import LevelClosed, Mark
from capexplorer.model.findings import Cause

from .whole import followed, whole

BEGAN_MS = 1_767_265_200_000


class Annotations:
    """What a Grafana keeps, by id."""

    def __init__(self) -> None:
        self.kept: dict[int, dict[str, Any]] = {}

    def answer(self, request: Request) -> Reply:
        if request.headers.get("Authorization") != "Bearer token":
            return Reply(401)
        path = urlsplit(request.path)
        match request.method:
            case "GET":
                wanted = set(parse_qs(path.query)["tags"])
                found = [each | {"id": number} for number, each in self.kept.items() if wanted <= set(each["tags"])]
                return Reply(body=json.dumps(found).encode())
            case "POST":
                number = len(self.kept) + 1
                self.kept[number] = json.loads(request.body)
                return Reply(body=json.dumps({"id": number, "message": "Annotation added"}).encode())
            case "DELETE":
                del self.kept[int(path.path.rpartition("/")[2])]
        return Reply()


@contextmanager
def grafana() -> Iterator[tuple[Annotations, HttpServer]]:
    annotations = Annotations()
    with http_server(annotations.answer) as server:
        yield annotations, server


def text_of(closed: LevelClosed) -> str:
    return f"{closed.users} users: p95 <b>"


def send(session: FollowedSession, server: HttpServer, *, times: int = 1, token: str = "token") -> None:
    with closing(GrafanaReceiver(session, f"{server.url}/", token, text_of)) as receiver:
        for _ in range(times):
            receiver.send()


def test_a_level_is_a_region_and_a_mark_a_point(tmp_path: Path) -> None:
    with grafana() as (annotations, server):
        send(followed(whole(), tmp_path), server)
    first, second, mark = annotations.kept.values()
    assert first == {
        "time": BEGAN_MS + 1000, "timeEnd": BEGAN_MS + 15_000, "tags": ["capexplorer", HEADER.id, "level 0"],
        "text": "4 users: p95 &lt;b&gt;",
    }  # fmt: skip
    assert second["tags"][-1] == "level 1"
    assert mark["time"] == mark["timeEnd"] == BEGAN_MS + 31_000
    assert mark["tags"] == ["capexplorer", HEADER.id, "mark cause:refused"]


def test_nothing_is_made_twice_even_by_another_call_of_the_command(tmp_path: Path) -> None:
    session = followed(whole(), tmp_path)
    with grafana() as (annotations, server):
        send(session, server, times=2)
        send(session, server)
    assert len(annotations.kept) == 3


def test_a_retracted_mark_is_removed(tmp_path: Path) -> None:
    mark = Mark(t_s=2.0, key="cause:x", state="open", finding=Cause(name="timeout"))
    gone = replace(mark, t_s=3.0, revision=2, state="retracted")
    with grafana() as (annotations, server):
        send(followed(Scenario().add(mark), tmp_path), server)
        assert len(annotations.kept) == 1
        send(followed(Scenario().add(mark, gone), tmp_path), server)
    assert annotations.kept == {}


def test_a_mark_stays_where_it_was_first_seen(tmp_path: Path) -> None:
    mark = Mark(t_s=2.0, key="cause:x", state="open", finding=Cause(name="timeout"))
    later = replace(mark, t_s=30.0, revision=2, state="updated")
    with grafana() as (annotations, server):
        send(followed(Scenario().add(mark, later), tmp_path), server)
    assert annotations.kept[1]["time"] == BEGAN_MS + 2000


def test_a_refused_token_and_another_server_are_errors_that_do_not_show_the_token(tmp_path: Path) -> None:
    session = followed(whole(), tmp_path)
    with grafana() as (_, server), pytest.raises(OSError, match="HTTP 401 Unauthorized") as refused:
        send(session, server, token="wrong-token")
    assert "wrong-token" not in str(refused.value)
    with http_server() as server, pytest.raises(OSError, match="not Grafana's"):
        send(session, server)


def test_a_dashboard_asks_only_for_metrics_that_are_exported() -> None:
    made = json.loads(dashboard())
    asked = [target["expr"] for panel in made["panels"] for target in panel["targets"]]
    asked += [each["query"] for each in made["templating"]["list"]]
    named = {name for expression in asked for name in re.findall(r"capexplorer_\w+", expression)}
    assert len(named) > 20
    assert named <= {name for metric in METRICS for name in metric.series}


def test_the_panels_of_a_dashboard_do_not_overlap() -> None:
    places = [tuple(panel["gridPos"][key] for key in "xywh") for panel in json.loads(dashboard())["panels"]]
    cells = [(x + i, y + j) for x, y, w, h in places for i in range(w) for j in range(h)]
    assert len(cells) == len(set(cells))
    assert all(x < 24 for x, _ in cells)
