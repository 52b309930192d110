"""Makes docs/causes.md: `python docs/causes.py`. Ids, severities and advice come from the code, "proved by" from the rows of the
fault matrix; symptoms and what confirms a cause or rules it out come from docs/causes.toml."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from capexplorer import wording
from capexplorer.analysis.causes.catalogue import ENTRIES, Entry
from lab.trials.faults.rows import ALL, NOT_INJECTED

DOCS = Path(__file__).parent

FIELDS = ("symptom", "confirmed", "ruled_out")
GROUPS = {
    "generator": "The generator",
    "host": "The host",
    "network": "The network",
    "target": "The target",
    "check": "Checks",
}
ESCAPED = r"\|"
"""A vertical bar inside a table cell."""
COLUMNS = ("id", "severity", "what you see", "confirmed by", "ruled out by", "advice", "proved by")

HEAD = """\
# Causes, bottlenecks and leaks

Made by `python docs/causes.py` from the catalogue (`catalogue.py` in `capexplorer/analysis`), the advice of `wording`, the rows
of `lab/trials/faults` and `docs/causes.toml`. A test fails if the page differs from them.

1. **A failure is classified** by its errno, otherwise by the type of its exception, its status, or the text of a check, in
   this order. A check that has a name (`lost_updates: ...`) or mentions a task comes before the status.
2. **Failures are counted by cause and endpoint.** A connection error after which the client repeats the request counts for the
   cause, although the request may succeed in the end.
3. **Causes are tested in this order**: resources of the generator and its host, the end of the target, its limits, kernel queues,
   the network. If none is confirmed, the failure keeps its symptom's row, or is `unknown`. If several are, the first is named,
   and the others are listed as *competing*.
4. **The generator is ruled out first.** While it has an open critical cause, no timeout is blamed on the target.
5. **A reading that could not be taken is listed as unavailable**; it never counts as zero, and confirms nothing.

Severity: *critical* means that the results do not describe the service, unless the cause is the target's. *Symptom* rows are
resolved to another row if readings allow it. A failure is judged by readings that are at most 3 s old.

**Gate**: a busy resource is a bottleneck only if more users bring no more goodput and more latency. Either 20% more users brought
less than 5% more goodput (in proportion for greater steps, with standard errors), or the level is beyond the knee; and latency
rose by 10% and by more than the loop lag. It is closed at a level that
makes surely 10% less than the other levels show at its users: the service changed, or has not recovered. While the gate is closed
the busiest resource is named as such, not as a limit. A level that saturated the generator has no bottleneck.

Advice is for Linux; on macOS and Windows the commands differ. In a session, readings fill in numbers and process ids. The
column "proved by" names the rows of the fault matrix ([faults.md](faults.md)) that inject the fault.
"""


def page(texts: Mapping[str, Mapping[str, str]]) -> str:
    """The whole page. Raises ValueError if `texts` and the catalogue differ."""
    check(texts)
    parts = [HEAD]
    for where, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts.append(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
        parts.append("\n".join(row(entry, texts[entry.id]) for entry in ENTRIES.values() if entry.where == where) + "\n")
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


def row(entry: Entry, fields: Mapping[str, str]) -> str:
    """One line of the table."""
    severity = entry.severity + (", symptom" if entry.symptom else "")
    cells = (f"`{entry.id}`", severity, *(fields[name] for name in FIELDS), wording.advice_for(entry.id, {}), proof(entry.id))
    return f"| {' | '.join(cell.replace('|', ESCAPED) for cell in cells)} |"


def proof(name: str) -> str:
    """The rows of the fault matrix that inject a cause, or why there is none."""
    rows = sorted(PROOFS[name])
    if name in NOT_INJECTED:
        return f"not injected: {NOT_INJECTED[name]}"
    return ", ".join(rows) if rows else "a symptom: no row of its own"


def proofs() -> Mapping[str, Iterable[str]]:
    """By id of a cause: the names of the rows that expect it."""
    found: dict[str, list[str]] = defaultdict(list)
    for fault in ALL.values():
        for name in (*fault.expected, *fault.one_of):
            found[name].append(fault.name)
    return found


PROOFS = proofs()


def texts() -> Mapping[str, Mapping[str, str]]:
    """The texts that are written by hand."""
    return tomllib.loads((DOCS / "causes.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    (DOCS / "causes.md").write_text(page(texts()), encoding="utf-8")
