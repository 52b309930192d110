"""Marks of watched parts that cannot be read: they open when the link is cut and close with the next reading."""

from __future__ import annotations

from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.model.events import PartState
from capexplorer.model.findings import Cause
from capexplorer.wording.marks import title


def test_a_cut_link_opens_a_mark_and_a_reading_closes_it() -> None:
    detector = CauseDetector()
    assert detector.process(PartState(t_s=3.0, name="db", state="read")) == ()
    (cut,) = detector.process(PartState(t_s=20.0, name="db", state="unread", reason="Connection reset by peer"))
    assert (cut.state, cut.severity, title(cut)) == ("open", "warning", "db cannot be read")
    assert isinstance(cut.finding, Cause)
    assert cut.finding.example == "Connection reset by peer"
    (back,) = detector.process(PartState(t_s=31.0, name="db", state="read"))
    assert (back.state, back.key, back.revision) == ("closed", cut.key, 2)


def test_a_second_cut_is_another_episode_of_the_same_mark() -> None:
    detector, states = CauseDetector(), ("unread", "read", "unread")
    found = [mark for t_s, state in enumerate(states) for mark in detector.process(PartState(t_s=t_s, name="db", state=state))]  # type: ignore[arg-type]
    assert [mark.revision for mark in found] == [1, 2, 3]
    assert isinstance(found[-1].finding, Cause)
    assert (found[-1].finding.episodes, found[-1].finding.since_s) == (2, 2)


def test_each_part_gets_its_own_mark() -> None:
    detector = CauseDetector()
    keys = {mark.key for name in ("db", "proxy") for mark in detector.process(PartState(t_s=1.0, name=name, state="unread"))}
    assert keys == {"cause:part_not_read:db", "cause:part_not_read:proxy"}
