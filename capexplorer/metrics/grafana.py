"""Annotations in Grafana: a region for each closed level, a point for each mark. Those of retracted marks are removed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from .. import wording
from ..addresses import without_userinfo
from ..model.events import LevelClosed, Mark
from .following import FollowedSession
from .posting import Client
from .table import Totals

TOKEN = "CAPEXPLORER_GRAFANA_TOKEN"
"""The variable with the token of a service account that may write annotations."""
TAG = "capexplorer"
T = TypeVar("T")

_PATH = "/api/annotations"
_MOST = 10_000
"""Annotations of one session that are asked for."""


class _Annotation(msgspec.Struct, frozen=True, omit_defaults=True):
    """As Grafana takes it. Times in Unix milliseconds; `text` is HTML."""

    time: int
    timeEnd: int  # noqa: N815
    tags: tuple[str, ...]
    text: str


class _There(msgspec.Struct, frozen=True):
    """One that Grafana has."""

    id: int
    tags: tuple[str, ...] = ()


class GrafanaReceiver:
    """A Grafana at this URL. What it has of this session already, as of an earlier call of the command, is not made again."""

    every_s = 2.0

    def __init__(self, session: FollowedSession, url: str, token: str, level_text: Callable[[LevelClosed], str]) -> None:
        self.name, self._session, self._url = f"--grafana {without_userinfo(url)}", session, url.rstrip("/") + _PATH
        self._client = Client(url, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        self._level_text = level_text
        self._ids: dict[str, int] | None = None
        """Of the annotations there, by the tag that only one of them has; None: not asked yet."""

    def send(self) -> None:
        """Make the annotations that are missing, and remove those that are retracted. Raises OSError."""
        if self._ids is None:
            self._ids = self._known()
        for key, annotation in self._session.read(self._annotations).items():
            if annotation is not None and key not in self._ids:
                self._ids[key] = self._call("POST", self._url, _There, msgspec.json.encode(annotation)).id
            elif annotation is None and key in self._ids:
                self._client.call("DELETE", f"{self._url}/{self._ids.pop(key)}")

    def close(self) -> None:
        """Close its connection."""
        self._client.close()

    def _known(self) -> dict[str, int]:
        query = f"?tags={TAG}&tags={self._session.id}&limit={_MOST}"
        found = self._call("GET", self._url + query, tuple[_There, ...])
        return {tag: each.id for each in found for tag in each.tags if tag.startswith(("level ", "mark "))}

    def _call(self, method: str, url: str, kind: type[T], content: bytes | None = None) -> T:
        try:
            return msgspec.json.decode(self._client.call(method, url, content), type=kind)
        except msgspec.DecodeError:
            raise OSError("the reply is not Grafana's") from None

    def _annotations(self, totals: Totals) -> Mapping[str, _Annotation | None]:
        """By the tag that only one has; None: it is retracted."""
        timeline, found = totals.timeline, dict[str, _Annotation | None]()
        for level in timeline.levels:
            if level.closed is not None and level.ended_s is not None:
                key, text = f"level {level.opened.index}", self._level_text(level.closed)
                found[key] = self._annotation(key, level.started_s, level.ended_s, text)
        first_s = {each.key: each.t_s for each in reversed(timeline.journal) if isinstance(each, Mark)}
        for mark in timeline.marks.values():
            key, at_s, text = f"mark {mark.key}", first_s[mark.key], wording.mark(mark, timeline.header)
            found[key] = None if mark.state == "retracted" else self._annotation(key, at_s, at_s, text)
        return found

    def _annotation(self, key: str, began_s: float, ended_s: float, text: str) -> _Annotation:
        began, ended = (round(self._session.unix_s(t_s) * 1000) for t_s in (began_s, ended_s))
        return _Annotation(began, ended, (TAG, self._session.id, key), html.escape(text, quote=False))
