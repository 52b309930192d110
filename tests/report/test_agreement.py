"""No report contradicts itself or the summary; over every sample session and over generated findings.

The rules (contradictions.py) read the finished texts only, so that they hold however a report is composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from marked import marked
from msgspec.structs import replace
from wording.judged_sessions import knee_verdict, levels, mark
from wording.verdict_cases import CASES

from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import Event, Header, Mark, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import KneeKind
from capexplorer.report.formats import markdown
from capexplorer.report.summary import summarise
from capexplorer.session.reader import open_session

from .contradictions import CONTRADICTIONS, NO_KNEE_IN_THE_TABLE, NO_KNEE_IN_WORDS, by_epoch, contradictions, numbers_in
from .exported_sessions import HEADER, session

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "sessions").glob("*.jsonl"))


def plain_markdown(timeline: Timeline) -> str:
    """The Markdown report without escapes and bold type."""
    return markdown.render(timeline).decode().replace("\\", "").replace("**", "")


def knee_rows(text: str) -> list[list[str]]:
    """The first two cells of each row of the table of knees."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.count("|") == 7]
    return [row[:2] for row in rows if row[0].split(",")[0] in ("knee", "bend", "latency climbs")]


def assert_agrees(timeline: Timeline) -> None:
    """The report does not contradict itself, and has the verdicts and knees of the summary. All formats have the same texts."""
    text, summary = plain_markdown(timeline), summarise(timeline)
    assert [wrong for part in by_epoch(text) for wrong in contradictions(part)] == [], text
    assert [each["verdict"] for each in summary["verdicts"] if each["verdict"] not in text] == []
    assert summary["verdict"] in [each["verdict"] for each in summary["verdicts"]]
    without_knee = [row for row in knee_rows(text) if row[1].startswith("none up to")]
    listed = [row for row in knee_rows(text) if row not in without_knee]
    if timeline.verdicts and timeline.ended is not None:
        assert len(listed) == len(summary["knees"])
    for knee in summary["knees"]:
        printed = f"{knee['users']:,.0f}" if knee["users"] >= 9.95 else f"{knee['users']:.2g}"
        assert not timeline.verdicts or any(row[1].endswith(printed) for row in listed), f"{knee} is not in the table {listed}"
    bounds = {each["no_knee_up_to_users"] for each in summary["verdicts"]} - {None}
    assert len(bounds) <= len(without_knee), "a `no knee up to` of the summary is not in the table"


# -- reports of recorded and generated sessions


def test_each_pattern_matches_a_report() -> None:
    """A pattern that matches no report any more, since the wording has changed, would find no contradiction."""
    sessions = [recorded(path) for path in SAMPLES] + [[HEADER, *events] for events, _ in CASES.values()]
    written = "\n".join(plain_markdown(Timeline(events)) for events in sessions)
    patterns = {pattern for _, first, second, _ in CONTRADICTIONS for pattern in (first, second)}
    patterns |= {NO_KNEE_IN_WORDS, NO_KNEE_IN_THE_TABLE}
    assert [pattern for pattern in patterns if not numbers_in(pattern, written)] == []


def recorded(path: Path) -> list[Event]:
    """The events of a session without its title: that of a sample names its result, and would be read as a finding."""
    with open_session(path) as log:
        return [replace(event, label=None) if isinstance(event, Header) else event for event in log]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_exports_of_every_sample_session_agree(path: Path) -> None:
    assert_agrees(Timeline(recorded(path)))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_exports_of_every_sample_session_agree_after_reanalysis(path: Path) -> None:
    events = recorded(path)
    assert_agrees(Timeline(reanalysed_events(events, reanalyse_events(events), "test")))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_exports_of_every_sample_session_agree_at_every_finding(path: Path) -> None:
    """Also while it is recorded, as a screen shows it, or after a run that ended there."""
    timeline = Timeline()
    for event in recorded(path):
        timeline.apply(event)
        if isinstance(event, Mark | Verdict):
            assert_agrees(timeline)


@pytest.mark.parametrize("name", CASES)
def test_the_exports_of_sessions_made_of_marks_and_verdicts_agree(name: str) -> None:
    assert_agrees(Timeline([HEADER, *CASES[name][0]]))


def test_the_exports_of_a_session_with_two_epochs_agree() -> None:
    assert_agrees(Timeline(session((5, 20, 5, 20))))


CATALOGUE_IDS = sorted(each for each in ENTRIES if each != "stop_rule")
USER_COUNTS = (10, 40, 74, 82)
KINDS: tuple[KneeKind | None, ...] = (None, "knee", "bend", "no_knee", "at_or_below")


@st.composite
def findings(draw: st.DrawFn) -> Sequence[Event]:
    """Any marks with any verdicts in one epoch or two: also combinations that no detector finds, and verdicts without marks."""
    epochs = draw(st.sampled_from([(0,), (0, 1)]))
    events: list[Event] = []
    for epoch in epochs:
        events += levels(*USER_COUNTS, epoch=epoch, since_s=300.0 * epoch)
        for id_ in draw(st.lists(st.sampled_from(CATALOGUE_IDS), max_size=4, unique=True)):
            users, state = draw(st.sampled_from(USER_COUNTS)), draw(st.sampled_from(["open", "closed"]))
            events.append(mark(id_, users, 300.0 * epoch + draw(st.integers(1, 239)), state=state, epoch=epoch))
        kind = draw(st.sampled_from(KINDS))
        if kind is not None:
            verdict = knee_verdict(kind, draw(st.sampled_from([10, 40, 60, 78])))
            collected = replace(verdict, epoch=epoch, t_s=300.0 * epoch + 240.0)
            events += [collected, *(_marked(collected, draw(st.floats(0.98, 1.02))) if draw(st.booleans()) else ())]
    return events


def _marked(verdict: Verdict, moved: float) -> list[Mark]:
    """The knee's mark as a live session records it: after the verdict, and still a knee if the verdict has none any more."""
    knee = verdict.capacity.knee
    assert knee is not None
    assert knee.users is not None
    kind = "knee" if knee.kind == "no_knee" else knee.kind
    return [
        marked(t_s=verdict.t_s, key=f"knee:epoch{verdict.epoch}", state="open", kind=kind, id=kind, epoch=verdict.epoch,
             users=knee.users * moved, severity="warning", evidence={"users_low": knee.users_low, "users_high": knee.users_high})
    ]  # fmt: skip


@given(findings())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_exports_of_generated_findings_agree(events: Sequence[Event]) -> None:
    assert_agrees(Timeline([HEADER, *events]))
