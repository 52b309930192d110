"""docs/causes.md, made from the catalogue of causes."""

from __future__ import annotations

import re

from capexplorer import wording
from capexplorer.model.catalogue import ENTRIES, Entry
from lab.kit.tables import table

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

Made from `capexplorer/model/causes.toml`. [faults.md](faults.md) has those that were injected.

A failure is classified by its errno, the type of its exception, its status, or the text of a check. Readings then confirm a
cause, in this order: generator and its host, the end of the target, its limits, kernel queues, the network. While the generator
has an open critical cause, no timeout is blamed on the target. If nothing is confirmed the failure keeps the row of its symptom,
or is `unknown`; a reading that was not taken confirms nothing.

In bold are critical ones: the results do not describe the service, unless the cause is the target's. Advice is for Linux; a
session has all of it, with numbers and process ids.

**The gate**: a busy resource is a bottleneck only if 20% more users bring less than 5% more goodput, or the level is beyond the
knee, and latency rose by 10% and by more than the loop lag; else it is named, but not as a limit. A level that saturated the
generator has no bottleneck.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for where, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts.append(table(COLUMNS, [row(entry) for entry in ENTRIES.values() if entry.where == where]) + "\n")
    return "\n".join(parts)


def row(entry: Entry) -> tuple[str, ...]:
    """The cells of one line."""
    name = f"**`{entry.id}`**" if entry.severity == "critical" else f"`{entry.id}`"
    return name, entry.symptom, entry.confirmed, _beginning(wording.advice_for(entry.id, {}))


def _beginning(advice: str) -> str:
    """Its first sentence, up to a semicolon: a session shows all of it."""
    return re.split(r"(?<=[.]) (?=[A-Z])|; ", advice)[0].rstrip(".") + "."
