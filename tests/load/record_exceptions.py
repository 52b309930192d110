"""Records what the clients raise on this Linux as tests/data/exceptions/linux.json:
`PYTHONPATH=tests python -m tests.load.record_exceptions`.

Real servers that misbehave, and a network namespace where ports, descriptors and routes run out. The file holds data for a table
test, so that a new version of a client, or of the classification, is seen to agree with what was raised then.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

from .conditions import CAUSES, STARVED_CAUSES, play_reported, play_starved, rows
from .patched import Played

FILE = Path(__file__).parents[1] / "data/exceptions/linux.json"
LIBRARIES = ("locust", "requests", "urllib3", "geventhttpclient", "gevent")


def main() -> None:
    cases = _cases(play_reported(), CAUSES) + _cases(play_starved(), dict(STARVED_CAUSES))
    source = f"recorded with Python {sys.version.split()[0]}, " + ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    FILE.write_text(f'{{"system": "Linux",\n "source": {json.dumps(source)},\n "cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} exceptions")


def _cases(seen: Played, causes: dict[str, str | None]) -> list[dict[str, object]]:
    return [
        {"client": client, "condition": condition, "id": causes[condition]}
        | {name: reported["signature"][name] for name in ("status", "reused") if name in reported["signature"]}
        | {"chain": [{key: value for key, value in link.items() if value is not None} for link in reported["chain"]]}
        for client, condition, reported in rows(seen)
        if reported is not None
    ]


if __name__ == "__main__":
    main()
