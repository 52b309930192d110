"""No report contradicts itself, and the exports of one session agree: of every sample, and of sessions that are put together.

What is checked is data (CONTRADICTIONS), read out of the finished texts: how a report is composed plays no part in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace
from wording.judged_sessions import knee_verdict, levels, mark
from wording.verdict_cases import CASES

from capexplorer.analysis.causes.catalogue import ENTRIES
from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.events import Event, Header, Mark, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import KneeKind
from capexplorer.report import html, markdown
from capexplorer.report import json as json_report
from capexplorer.report.summary import summarise
from capexplorer.session.reader import open_session
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes import failure_causes
from capexplorer.tui.panes.journal import entries as journal
from trials.marked import marked

from .material import HEADER, session

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "sessions").glob("*.jsonl"))

# -- contradictions, as data

NUMBER = r"([\d,.]+)"
KNEE = rf"(?<!no )(?<!latency )(?<!the )\bknee at (?:or below )?{NUMBER} users?"
NO_KNEE_IN_WORDS, NO_KNEE_IN_THE_TABLE = rf"no knee up to {NUMBER} users?", rf"\| knee[^|]*\| none up to {NUMBER}"
NO_KNEE = f"{NO_KNEE_IN_WORDS}|{NO_KNEE_IN_THE_TABLE}"
IDLE = rf"no limit reached at {NUMBER} users?"
WAITING = rf"users' think time sets the throughput at {NUMBER} users?"
LIMITED = rf"bottleneck: [^:]*? at {NUMBER} users?"
SAID_UP_TO = rf"results above {NUMBER} users? do not describe the service"
SAID_NOTHING = r"\bthe results do not describe the service()"


def always(first: float, second: float) -> bool:
    """They may not stand in one report."""
    return True


def beyond(first: float, second: float) -> bool:
    """The second lies beyond the first."""
    return second > first


CONTRADICTIONS: tuple[tuple[str, str, str, Callable[[float, float], bool]], ...] = (
    ("no knee, and a knee", NO_KNEE, KNEE, always),
    ("two knees", KNEE, KNEE, lambda first, second: first != second),
    ("no limit reached, and a knee", IDLE, KNEE, always),
    ("no limit reached, and a bottleneck", IDLE, LIMITED, always),
    ("think time sets the throughput, and a knee", WAITING, KNEE, always),
    ("think time sets the throughput, and a bottleneck", WAITING, LIMITED, always),
    ("results above a count are invalid, and a knee above it", SAID_UP_TO, KNEE, beyond),
    ("results above a count are invalid, and a bottleneck of the service above it", SAID_UP_TO, rf"target: {LIMITED}", beyond),
    ("results above a count are invalid, and no limit reached", SAID_UP_TO, IDLE, always),
    ("all results are invalid, and a knee", SAID_NOTHING, KNEE, always),
)


def found(pattern: str, text: str) -> list[float]:
    """The number in each match; 0 where a match has none."""
    matches = re.finditer(pattern, text, re.IGNORECASE)
    groups = (next((group for group in match.groups() if group), "0") for match in matches)
    return [float(group.replace(",", "").rstrip(".")) for group in groups]


def contradictions(text: str) -> list[str]:
    """What is wrong with the statements about one epoch."""
    wrong = []
    for name, first, second, is_wrong in CONTRADICTIONS:
        pairs = [(a, b) for a in found(first, text) for b in found(second, text) if is_wrong(a, b)]
        wrong += [f"{name}: {pairs}"] if pairs else []
    return wrong


def by_epoch(text: str) -> list[str]:
    """The lines about each epoch; lines that name none belong to all."""
    lines = [line for line in text.splitlines() if not line.startswith("- gone: ") and not line.startswith("gone: ")]
    named = [(re.search(r"\bepoch (\d+)", line, re.IGNORECASE), line) for line in lines]
    epochs = {match[1] for match, _ in named if match} or {""}
    return ["\n".join(line for match, line in named if match is None or match[1] == epoch) for epoch in sorted(epochs)]


# -- texts of one session


@dataclass(frozen=True)
class Texts:
    """Without layout and escapes."""

    markdown: str
    html: str
    screen: str


def plain_markdown(timeline: Timeline) -> str:
    return markdown.render(timeline).decode().replace("\\", "").replace("**", "")


def texts(timeline: Timeline) -> Texts:
    page = re.sub(r"<script.*?</script>|<style.*?</style>|<svg.*?</svg>", "", html.render(timeline).decode(), flags=re.DOTALL)
    rows = re.sub(r"</t[dh]><t[dh][^>]*>", " | ", page).replace("<td>", "| ").replace("</tr>", " |\n")
    lines = re.sub(r"</(?:li|p|h1|h2|tr)>", "\n", re.sub(r"<span class=\"muted\">(\w+)</span>", r"\1:", rows))
    causes = " ".join(
        line.text.strip() for block in failure_causes.blocks(timeline, DisplayOptions().palette, 400) for line in block.lines
    )
    return Texts(
        markdown=plain_markdown(timeline),
        html=unescape(re.sub(r"<[^>]+>", "", lines)),
        screen="\n".join([*(each.words for each in journal(timeline) if isinstance(each.entry, Mark)), causes]),
    )


def knees(text: str) -> list[list[str]]:
    """Lines of the table of knees: the first four cells, each as it is printed."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.count("|") >= 6]
    kinds = ("knee", "bend", "latency knee", "peak")
    return [row[:4] for row in rows if row[0].split(",")[0] in kinds and len(row) == 6]


def moments(text: str) -> set[str]:
    return set(re.findall(r"\d\d:\d\d to \d\d:\d\d", text))


def assert_agrees(timeline: Timeline) -> None:
    """Markdown, page, screen and summary say the same of knee, capacity, users and times, and none contradicts itself."""
    collected, summary = texts(timeline), json.loads(json_report.render(summarise(timeline)))
    for name, text in (("markdown", collected.markdown), ("html", collected.html)):
        assert [wrong for part in by_epoch(text) for wrong in contradictions(part)] == [], (name, text)
    shown = "\n".join(line for line in collected.screen.splitlines() if " now " not in line and "retracted" not in line)
    # a journal also lists the knee's earlier positions
    assert [wrong for part in by_epoch(shown) for wrong in contradictions(part) if not wrong.startswith("two knees")] == [], shown
    assert knees(collected.markdown) == knees(collected.html)
    assert moments(collected.markdown) == moments(collected.html)
    for each in summary["verdicts"]:
        assert each["verdict"] in collected.markdown and each["verdict"] in collected.html
    assert summary["verdict"] in [each["verdict"] for each in summary["verdicts"]]
    listed = [row for row in knees(collected.markdown) if not row[1].startswith("none") and not row[0].startswith("peak")]
    if timeline.verdicts and timeline.ended is not None:
        assert len(listed) == len(summary["knees"])
    for knee in summary["knees"]:
        printed = f"{knee['users']:,.0f}" if knee["users"] >= 9.95 else f"{knee['users']:.2g}"
        assert not timeline.verdicts or any(row[1].endswith(printed) for row in listed), (knee, listed)
    bounds = {each["no_knee_up_to_users"] for each in summary["verdicts"]} - {None}
    assert len(bounds) <= len([row for row in knees(collected.markdown) if row[1].startswith("none up to")])


# -- the contradictions themselves

CONTRADICTORY = {
    "no knee, and a knee": "No knee up to 82 users. Knee at 40 users.",
    "two knees": "Knee at 40 users [36–44]. knee at or below 10 users",
    "no limit reached, and a knee": "no limit reached at 40 users; knee at 20 users",
    "no limit reached, and a bottleneck": "no limit reached at 40 users\nbottleneck: CPU of the target at 82 users",
    "think time sets the throughput, and a knee": "users' think time sets the throughput at 1,200 users. Knee at 40 users.",
    "think time sets the throughput, and a bottleneck": "users' think time sets the throughput at 40 users\nbottleneck: a "
    "queue at 82 users",
    "results above a count are invalid, and a knee above it": "results above 10 users do not describe the service. Knee at "
    "40 users.",
    "results above a count are invalid, and a bottleneck of the service above it": (
        "results above 10 users do not describe the service\ntarget: bottleneck: CPU of the target at 40 users"
    ),
    "results above a count are invalid, and no limit reached": "results above 10 users do not describe the service; no limit "
    "reached at 40 users",
    "all results are invalid, and a knee": "the results do not describe the service.\nKnee at 40 users",
}
"""A text for each that has it and no other."""

HARMLESS = (
    "No knee up to 82 users. Latency knee at 40 users.",
    "Knee at 40 users. It is repeated: knee at 40 users.",
    "results above 40 users do not describe the service. Knee at 10 users.",
)


@pytest.mark.parametrize("name", [name for name, *_ in CONTRADICTIONS])
def test_a_contradictory_text_is_found(name: str) -> None:
    assert [wrong.partition(":")[0] for wrong in contradictions(CONTRADICTORY[name])] == [name]


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_that_agrees_with_itself_is_not(text: str) -> None:
    assert contradictions(text) == []


def test_each_pattern_is_in_a_report_of_the_samples_and_cases() -> None:
    """A sentence whose words had changed would contradict no other any more."""
    sessions = [recorded(path) for path in SAMPLES] + [[HEADER, *events] for events, _ in CASES.values()]
    written = "\n".join(plain_markdown(Timeline(events)) for events in sessions)
    patterns = {pattern for _, first, second, _ in CONTRADICTIONS for pattern in (first, second)}
    patterns |= {NO_KNEE_IN_WORDS, NO_KNEE_IN_THE_TABLE}
    assert [pattern for pattern in patterns if not found(pattern, written)] == []


# -- sessions


def recorded(path: Path) -> list[Event]:
    """Without its title, in which a person says what a sample shows at its end."""
    with open_session(path) as log:
        return [replace(event, label=None) if isinstance(event, Header) else event for event in log]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_agrees_with_itself(path: Path) -> None:
    assert_agrees(Timeline(recorded(path)))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_agrees_with_itself_after_reanalysis(path: Path) -> None:
    events = recorded(path)
    assert_agrees(Timeline(reanalysed_events(events, reanalyse_events(events), "test")))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_agrees_with_itself_at_every_finding(path: Path) -> None:
    """As it was on the screen then, or as a run that was cut short there is reported."""
    timeline = Timeline()
    for event in recorded(path):
        timeline.apply(event)
        if isinstance(event, Mark | Verdict):
            assert_agrees(timeline)


@pytest.mark.parametrize("name", CASES)
def test_sessions_made_of_marks_and_verdicts_agree(name: str) -> None:
    assert_agrees(Timeline([HEADER, *CASES[name][0]]))


def test_a_generated_session_with_two_epochs_agrees() -> None:
    assert_agrees(Timeline(session((5, 20, 5, 20))))


IDS = sorted(each for each in ENTRIES if each != "stop_rule")
LADDER = (10, 40, 74, 82)
KINDS: tuple[KneeKind | None, ...] = (None, "knee", "bend", "no_knee", "at_or_below")


@st.composite
def findings(draw: st.DrawFn) -> Sequence[Event]:
    """Any marks beside any verdicts, in one epoch or two, also what no detector would find together; and at the moment
    between a verdict and its mark."""
    epochs = draw(st.sampled_from([(0,), (0, 1)]))
    events: list[Event] = []
    for epoch in epochs:
        events += levels(*LADDER, epoch=epoch, since_s=300.0 * epoch)
        for id_ in draw(st.lists(st.sampled_from(IDS), max_size=4, unique=True)):
            users, state = draw(st.sampled_from(LADDER)), draw(st.sampled_from(["open", "closed"]))
            events.append(mark(id_, users, 300.0 * epoch + draw(st.integers(1, 239)), state=state, epoch=epoch))
        kind = draw(st.sampled_from(KINDS))
        if kind is not None:
            verdict = knee_verdict(kind, draw(st.sampled_from([10, 40, 60, 78])))
            collected = replace(verdict, epoch=epoch, t_s=300.0 * epoch + 240.0)
            events += [collected, *(_marked(collected, draw(st.floats(0.98, 1.02))) if draw(st.booleans()) else ())]
    return events


def _marked(verdict: Verdict, moved: float) -> list[Mark]:
    """The knee's mark, as a live session records it: published later than the verdict, and kept if the knee is gone."""
    knee = verdict.capacity.knee
    assert knee is not None and knee.users is not None
    kind = "knee" if knee.kind == "no_knee" else knee.kind
    return [
        marked(t_s=verdict.t_s, key=f"knee:epoch{verdict.epoch}", state="open", kind=kind, id=kind, epoch=verdict.epoch,
             users=knee.users * moved, severity="warning", evidence={"users_low": knee.users_low, "users_high": knee.users_high})
    ]  # fmt: skip


@given(findings())
@hypothesis_settings(max_examples=60, deadline=None)
def test_no_report_contradicts_itself_for_any_finding(events: Sequence[Event]) -> None:
    assert_agrees(Timeline([HEADER, *events]))
