"""The first lines of a report: what a user is, the objectives, and the load at which to operate."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.model.events import Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, SloVerdict
from capexplorer.report import html, markdown
from capexplorer.report.opening import opening

from .compared import USERS, LevelSpec, timeline

KNEE = KneeVerdict(kind="knee", users=25.0, users_low=23.0, users_high=28.0, capacity_rps=76.8)
LEVELS = [LevelSpec(6), LevelSpec(12, p50_ms=30.0), LevelSpec(24), LevelSpec(48)]


def judged(knee: KneeVerdict = KNEE, slo: tuple[SloVerdict, ...] = (), **header: Any) -> Timeline:
    """A session with this verdict."""
    return timeline(LEVELS, more=[Verdict(t_s=40.0, capacity=CapacityVerdict(knee=knee), slo=slo)], **header)


@pytest.mark.parametrize(
    ("wait_s", "words"),
    [
        ({"between": [0.1, 0.5], "constant": None}, "waits 0.1 to 0.5 s after the reply"),
        ({"constant": 0.3}, "waits 0.3 s after the reply"),
        (0.3, "waits 0.3 s after the reply"),
        ({"constant": 0}, "does not wait after the reply"),
        ({"poisson": 2.0}, "waits 2 s after the reply on average"),
        ({"constant_pacing": 1.0}, "waits until 1 s after it was sent"),
        ({"constant_throughput": 2.0}, "waits so that it makes 2/s"),
    ],
)
def test_it_says_what_a_user_is(wait_s: object, words: str) -> None:
    first = opening(judged(profile={"name": "x", "users": {**USERS, "wait_s": wait_s}}))[0]
    assert words in first
    assert "FastHttpUser" in first


def test_users_of_a_locustfile_are_what_it_says() -> None:
    assert "locustfile.py" in opening(judged(profile={"users": {"locustfile": "locustfile.py"}}))[0]


def test_the_operating_load_is_a_share_of_the_knees_lower_end_with_a_measured_p95() -> None:
    found = opening(judged())[-1]
    assert found.startswith("Operate at 18 users or fewer: 80% of the knee's lower end; at 12 users p95 was ")


@pytest.mark.parametrize("knee", [KneeVerdict(kind="no_knee", users=48.0), KneeVerdict(kind="bend", users=20.0)])
def test_without_a_knee_there_is_no_operating_load(knee: KneeVerdict) -> None:
    assert not any("Operate" in each for each in opening(judged(knee)))


def test_each_objective_says_up_to_which_load_it_was_met() -> None:
    crossed = SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=23.0)
    broken = SloVerdict(name="failure_ratio", limit=0.01, state="broken", users_high=6.0)
    said = opening(judged(slo=(crossed, broken)))
    assert any("met up to 23 users" in each for each in said)
    assert any("not met at any load" in each for each in said)
    assert "No objective is set." in opening(judged())


def test_reports_begin_with_it_after_the_verdict() -> None:
    shown = judged(KNEE)
    text, page = markdown.render(shown).decode(), html.render(shown).decode()
    for sentence in ("A user sends a request", "Operate at 18 users or fewer"):
        assert text.index(sentence) < text.index("## Levels")
        assert page.index(sentence) < page.index("<h2>")


def test_an_open_session_is_no_alarm() -> None:
    page = html.render(timeline(LEVELS, complete=False)).decode()
    assert "snapshot of a running session" in page
    assert 'class="alarm">snapshot' not in page
