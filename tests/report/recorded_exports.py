"""Digests of every export of each recorded session in the repository, and of each made session (`made_sessions`).

`python -m tests.report.recorded_exports` renews them. They show whether a change alters exports. A commit
with an intended change says what differs and why.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from capexplorer import paths
from capexplorer.commands.compare import FORMATS as COMPARISONS
from capexplorer.commands.compare import opened, rendered
from capexplorer.errors import InputError
from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Comparison, Session, compare
from capexplorer.report.formats import FORMATS
from capexplorer.report.formats.json import render
from capexplorer.report.redaction import redacted
from capexplorer.report.summary import summarise
from capexplorer.session.canonical import canonical
from capexplorer.session.reader import open_session

DATA = Path(__file__).resolve().parents[1] / "data"
DIGESTS, MADE_DIGESTS = DATA / "exports.json", DATA / "made_exports.json"
SESSIONS: Mapping[str, Path] = {
    **paths.sample_sessions(),
    **{path.stem: path for path in sorted((DATA / "sessions").glob("*.jsonl"))},
}
"""The samples that come with the app, and recordings that tests use."""
COMPARED_WITH = "sample"
"""The session that each other one is compared with."""

_APPEARANCE = re.compile(rb"<style>.*?</style>|<script>.*?</script>|<meta http-equiv[^>]*>", re.DOTALL)
"""Styles, scripts and the content security policy with their hashes: the same in each page, whatever its session."""


def digests(name: str) -> dict[str, str]:
    """Of a recorded session, by `FORMAT FILE`: the digest of each export; by `compare FORMAT`: of its comparison with
    COMPARED_WITH."""
    with open_session(SESSIONS[name]) as log:
        exports = _exports(name, list(log))
    return _digests(exports, compare([_opened(COMPARED_WITH), _opened(name)]))


@cache
def _opened(name: str) -> Session:
    return opened(str(SESSIONS[name]), [SESSIONS[name].parent])


def made_digests(name: str) -> dict[str, str]:
    """Those of a made session, which is compared with the first one, or of a made comparison."""
    from .made_comparisons import COMPARED
    from .made_sessions import MADE

    if name in COMPARED:
        return _digests({}, compare(COMPARED[name]()))
    events = list(MADE[name]())
    hidden = render(summarise(Timeline(redacted(map(canonical, events)))))
    comparison = compare([_made(next(iter(MADE))), _made(name)])
    return _digests(_exports(name, events) | {"json redacted": hidden}, comparison)


@cache
def _made(name: str) -> Session:
    from .made_sessions import MADE

    return Session(Timeline(MADE[name]()))


def _exports(name: str, events: Sequence[Event]) -> dict[str, bytes]:
    """By `FORMAT FILE`: the content of each file of each export."""
    exports: dict[str, bytes] = {}
    timeline = Timeline(events)
    for form in FORMATS.values():
        output = f"{name}{form.suffix}"
        try:
            files = form.of_timeline(timeline, output) if form.live else form.of_log(events, output)
        except InputError as error:  # such as percentile distributions of a session without requests
            files = {"refused": str(error).encode()}
        exports |= {f"{form.name} {file}": content for file, content in files.items()}
    return exports


def _digests(exports: Mapping[str, bytes], comparison: Comparison) -> dict[str, str]:
    compared = {f"compare {form}": rendered(comparison, form) for form in COMPARISONS}
    return {export: _digest(content) for export, content in (*exports.items(), *compared.items())}


def _digest(content: bytes) -> str:
    """The first 64 bits of SHA-256 over the content without its appearance."""
    return hashlib.sha256(_APPEARANCE.sub(b"", content)).hexdigest()[:16]


def _renew() -> None:
    sys.path.append(str(DATA.parent))  # common modules of tests, as pytest finds them
    from .made_comparisons import COMPARED
    from .made_sessions import MADE

    recorded, made = {name: digests(name) for name in SESSIONS}, {name: made_digests(name) for name in (*MADE, *COMPARED)}
    for path, found in ((DIGESTS, recorded), (MADE_DIGESTS, made)):
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _renew()
