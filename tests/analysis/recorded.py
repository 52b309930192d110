"""Recorded sessions with the marks that the current detectors find."""

from __future__ import annotations

from pathlib import Path

from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read

RECORDED = Path(__file__).parents[1] / "data" / "sessions"


def analysed_again(name: str) -> Timeline:
    """The recording of this name in RECORDED, without its ending."""
    events = list(read(RECORDED / f"{name}.jsonl"))
    return Timeline(reanalysed_events(events, reanalyse_events(events), "now"))
