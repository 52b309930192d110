"""The sentence about requests that a session keeps whole."""

from __future__ import annotations

from ..model.timeline import Timeline


def kept_requests(timeline: Timeline) -> str:
    """`214 whole requests are in ID.requests, beside the log`; empty if there is no such file."""
    ended = timeline.ended
    if ended is None or ended.requests_file is None:
        return ""
    noun = "request is" if ended.requests_kept == 1 else "requests are"
    return f"{ended.requests_kept} whole {noun} in {ended.requests_file}, beside the log"
