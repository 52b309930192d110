"""Digests of every export of each recorded session in the repository. `python -m tests.report.recorded_exports` renews them.

They show whether a change alters the exports of existing sessions. An intended change is listed in CHANGELOG.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from capexplorer import paths
from capexplorer.commands.compare import FORMATS as COMPARISONS
from capexplorer.commands.compare import opened, rendered
from capexplorer.errors import InputError
from capexplorer.report.compare import compare
from capexplorer.report.formats import FORMATS
from capexplorer.session.reader import open_session

DATA = Path(__file__).resolve().parents[1] / "data"
DIGESTS = DATA / "exports.json"
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
    """By `FORMAT FILE`: the digest of each export of the session. By `compare FORMAT`: of its comparison with COMPARED_WITH."""
    return {export: _digest(content) for export, content in (*_exports(name).items(), *_comparisons(name).items())}


def _exports(name: str) -> dict[str, bytes]:
    """By `FORMAT FILE`: the content of each file of each export."""
    with open_session(SESSIONS[name]) as log:
        events = list(log)
    exports: dict[str, bytes] = {}
    for form in FORMATS.values():
        try:
            files = form.of_log(events, f"{name}{form.suffix}")
        except InputError as error:  # such as percentile distributions of a session without requests
            files = {"refused": str(error).encode()}
        exports |= {f"{form.name} {file}": content for file, content in files.items()}
    return exports


def _comparisons(name: str) -> dict[str, bytes]:
    """By `compare FORMAT`: the comparison with COMPARED_WITH."""
    folder = SESSIONS[name].parent
    comparison = compare([opened(str(SESSIONS[each]), folder) for each in (COMPARED_WITH, name)])
    return {f"compare {form}": rendered(comparison, form) for form in COMPARISONS}


def _digest(content: bytes) -> str:
    """The first 64 bits of SHA-256 over the content without its appearance."""
    return hashlib.sha256(_APPEARANCE.sub(b"", content)).hexdigest()[:16]


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({name: digests(name) for name in SESSIONS}, indent=1) + "\n", encoding="utf-8")
