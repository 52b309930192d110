"""docs/causes.md: ids, severities and advice come from the code, symptoms and what confirms a cause from docs/causes.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from capexplorer import wording
from capexplorer.analysis.causes.catalogue import ENTRIES, Entry
from lab.kit.tables import table

DOCS = Path(__file__).parent

FIELDS = ("symptom", "confirmed")
GROUPS = {
    "generator": "The generator",
    "host": "The host",
    "network": "The network",
    "target": "The target",
    "check": "Checks",
}
COLUMNS = ("id", "what you see", "confirmed by", "advice")

HEAD = """\
# Causes, bottlenecks and leaks

Made from the catalogue (`capexplorer/analysis`), the advice of `wording`, and `docs/causes.toml`. [faults.md](faults.md) has
those that were injected for real, and what was marked.

What does a failure, or a slow level, mean, and what can be done? A failure is classified by its errno, the type of its
exception, its status, or the text of a check. Readings then confirm a cause, in this order: generator and its host, the end of
the target, its limits, kernel queues, the network. While the generator has an open critical cause, no timeout is blamed on the
target. If nothing is confirmed the failure keeps the row of its symptom, or is `unknown`; a reading that could not be taken
confirms nothing and counts as unavailable, never as zero.

*Critical*: the results do not describe the service, unless the cause is the target's.

**The gate**: a busy resource is a bottleneck only if 20% more users bring less than 5% more goodput, or the level is beyond the
knee, and latency rose by 10% and by more than the loop lag. Otherwise the busiest resource is named, but not as a limit. A
level that saturated the generator has no bottleneck.

Advice is for Linux; a session shows all of it, with numbers and process ids.
"""


def page(texts: Mapping[str, Mapping[str, str]]) -> str:
    """The whole page. Raises ValueError if `texts` and the catalogue differ."""
    check(texts)
    parts = [HEAD]
    for where, title in GROUPS.items():
        parts.append(f"## {title}\n")
        rows = [row(entry, texts[entry.id]) for entry in ENTRIES.values() if entry.where == where]
        parts.append(table(COLUMNS, rows) + "\n")
    return "\n".join(parts)


def check(texts: Mapping[str, Mapping[str, str]]) -> None:
    """Raises ValueError if an entry of the catalogue lacks its texts, if a text lacks a field, or if a text belongs to no
    entry."""
    for name in sorted(set(ENTRIES) ^ set(texts)):
        where = "has no entry" if name in ENTRIES else "has an entry that the catalogue lacks"
        raise ValueError(f"docs/causes.toml {where}: {name}")
    for name, fields in texts.items():
        if tuple(fields) != FIELDS:
            raise ValueError(f"docs/causes.toml: [{name}] needs {', '.join(FIELDS)}, in this order")


def row(entry: Entry, fields: Mapping[str, str]) -> tuple[str, ...]:
    """The cells of one line."""
    critical = " (critical)" if entry.severity == "critical" else ""
    return (f"`{entry.id}`{critical}", *(fields[name] for name in FIELDS), _beginning(wording.advice_for(entry.id, {})))


def _beginning(advice: str) -> str:
    """Its first sentence, up to a semicolon: a session shows all of it."""
    return re.split(r"(?<=[.]) (?=[A-Z])|; ", advice)[0].rstrip(".") + "."


def texts() -> Mapping[str, Mapping[str, str]]:
    """The texts that are written by hand."""
    return tomllib.loads((DOCS / "causes.toml").read_text(encoding="utf-8"))
