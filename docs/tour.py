"""docs/tour.md, and its pictures: `python docs/tour.py` (`make pictures`). Each stop of docs/tour.toml is a picture of the
product's screen with the events of a sample session up to a given time, after some keys.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import msgspec

from capexplorer import toml
from docs.pictures import SIZES, picture

DOCS = Path(__file__).parent
SESSIONS = DOCS.parent / "sessions"
FOLDER = DOCS / "pictures" / "tour"

HEAD = """\
# A tour in pictures

Made from sample sessions (`docs/tour.toml` has the stops). `capexplorer replay sample` shows the same screens,
with every key of a replay.
"""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One picture with its text. `size` and `theme` are names of docs/pictures.py."""

    name: str
    title: str
    session: str
    see: str
    """What the picture shows."""
    at_s: float = math.inf
    keys: tuple[str, ...] = ()
    size: str = "narrow"
    theme: str = "dark"


class Tour(msgspec.Struct, frozen=True, kw_only=True):
    """The content of docs/tour.toml."""

    stop: tuple[Stop, ...]


def stops() -> tuple[Stop, ...]:
    """All stops, in the order of the page."""
    return toml.load(DOCS / "tour.toml", Tour).stop


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for number, stop in enumerate(stops(), 1):
        keys = f" Keys: {' '.join(f'`{key}`' for key in stop.keys)}." if stop.keys else ""
        parts.append(f"## {number}. {stop.title}\n\n{stop.see}{keys}\n\n![](pictures/tour/{stop.name}.svg)\n")
    return "\n".join(parts)


async def draw() -> None:
    """Draw all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stop in stops():
        session = SESSIONS / f"{stop.session}.jsonl"
        drawn = await picture(session, SIZES[stop.size], stop.theme, stop.at_s, stop.keys)
        (FOLDER / f"{stop.name}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(draw())
