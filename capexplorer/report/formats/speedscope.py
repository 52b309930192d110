"""`export --format speedscope`: the sampled stacks for https://www.speedscope.app and tools that read its format."""

from __future__ import annotations

from typing import Any

import msgspec

from ...errors import InputError
from ...model.stacks import Frame
from ...model.timeline import Timeline
from ...wording import quantities
from ..escaping import visible
from ..stacks import every_sampling
from . import Format


def render(timeline: Timeline) -> bytes:
    """One file with a profile for each sampled level, runtime and clock. Raises InputError if no stacks were sampled."""
    frames: dict[Frame, int] = {}
    profiles: list[dict[str, Any]] = []
    for level, sampled in every_sampling(timeline):
        places = [frames.setdefault(frame, len(frames)) for frame in sampled.frames]
        weights = [round(stack.seconds, 6) for stack in sampled.stacks]
        load = quantities.load(level.load.users, level.load.per_s)
        profiles.append(
            {
                "type": "sampled",
                "name": f"level {level.opened.index}, {load}: {sampled.runtime}, {sampled.clock}",
                "unit": "seconds",
                "startValue": 0,
                "endValue": round(sum(weights), 6),
                "samples": [[places[each] for each in stack.frames] for stack in sampled.stacks],
                "weights": weights,
            }
        )
    if not profiles:
        raise InputError("speedscope: no stacks were sampled in this session")
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [_frame(each) for each in frames]},
        "profiles": profiles,
        "name": visible(timeline.header.target.name) if timeline.header is not None else "session",
        "activeProfileIndex": len(profiles) - 1,
        "exporter": "capexplorer",
    }
    return msgspec.json.encode(document) + b"\n"


def _frame(frame: Frame) -> dict[str, Any]:
    where: dict[str, Any] = {"file": visible(frame.file)} if frame.file else {}
    return {"name": visible(frame.function), **where, **({"line": frame.line} if frame.line else {})}


FORMAT = Format(
    name="speedscope", place=9, description="sampled stacks for speedscope.app", suffix=".speedscope.json", text=render
)
