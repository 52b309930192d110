"""Fake saved sessions for the tests of the picker, which record the operations on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from kit.scenario import Scenario
from report.compared import LevelSpec, timeline

from capexplorer.errors import SessionError
from capexplorer.model.figures import LevelFigures
from capexplorer.model.level import Level
from capexplorer.model.sources import SessionEntry
from capexplorer.report.compare import Comparison, Session, compare
from capexplorer.tui.screens.sessions import SessionRow

UNSETTLED = LevelFigures(settled=False)
LEVELS = (
    Scenario()
    .measured(users=10, figures=msgspec.structs.replace(UNSETTLED, goodput_rps=26.0))
    .measured(users=50, figures=UNSETTLED)
    .timeline.levels
)


def row(name: str, title: str | None = None, **given: object) -> SessionRow:
    fields: dict[str, object] = {
        "id": name,
        "path": Path(f"{name}.jsonl"),
        "size_bytes": 2048,
        "started_at": "2026-01-02T12:00:00+01:00",
        "profile": "mixed",
        "target": "mixed",
        "duration_s": 125.0,
        "levels": 4,
        "complete": True,
    }
    own: dict[str, object] = {"title": title, "marks": 0}
    for key, value in given.items():
        (own if key in ("best_goodput_rps", "marks", "recording", "verdict", "knee_users", "of_own_profile") else fields)[key] = (
            value
        )
    return msgspec.convert({"entry": msgspec.convert(fields, SessionEntry), **own}, SessionRow)


ROWS = (
    row(
        "s3",
        "after fix",
        started_at="2026-01-03T09:30:00+01:00",
        best_goodput_rps=141.4,
        marks=2,
        duration_s=61.0,
        knee_users=48.7,
        verdict="Knee at 49 users [44–59] and 134/s, limited by queueing (high confidence); provisional: no soak yet.",
    ),
    row("s2", None, label="abc1234", best_goodput_rps=90.0, levels=7),
    row("s1", "long", started_at="2025-12-31T23:59:00+01:00", profile="kv", target="kv-go", duration_s=3_725.0, complete=False),
    row("s0", None, started_at=None, problem="not a session: \x1b[31mline 1"),
)


class FakeSessions:
    """The saved sessions `rows`; `did` has the operations in order. With a `refusal` each operation raises a SessionError with
    that text."""

    where = "~/sessions"
    formats: Mapping[str, str] = {"md": "Markdown", "html": "a page", "json": "the summary"}

    def __init__(self, rows: Sequence[SessionRow] = ROWS, refusal: str | None = None) -> None:
        self.kept = list(rows)
        self.refusal = refusal
        self.did: list[tuple[str, ...]] = []

    def rows(self) -> Sequence[SessionRow]:
        return list(self.kept)

    def search(self, stopped: Callable[[], bool]) -> bool:
        return False

    def levels(self, entry: SessionEntry) -> Sequence[Level]:
        self._note("levels", entry.id)
        return LEVELS

    def rename(self, entry: SessionEntry, title: str) -> None:
        self._note("rename", entry.id, title)
        self.kept = [
            msgspec.structs.replace(each, title=title or None) if each.entry.id == entry.id else each for each in self.kept
        ]

    def delete(self, entry: SessionEntry) -> None:
        self._note("delete", entry.id)
        self.kept = [each for each in self.kept if each.entry.id != entry.id]

    def compare(self, entries: Sequence[SessionEntry]) -> Comparison:
        self._note("compare", *(entry.id for entry in entries))
        levels = [LevelSpec(10, 40.0), LevelSpec(50, 90.0)]
        return compare([Session(timeline(levels, id=entry.id), title=entry.label) for entry in entries])

    def export(self, entry: SessionEntry, form: str) -> str:
        self._note("export", entry.id, form)
        return f"/somewhere/{entry.id}.{form}"

    def _note(self, *what: str) -> None:
        if self.refusal is not None:
            raise SessionError(self.refusal)
        self.did.append(what)
