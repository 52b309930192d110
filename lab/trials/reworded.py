"""Replaces sentences of earlier versions by current ones: pages are written from kept results, which have the old sentences.

The evidence of curves, which was listed by its keys, is left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_DESCRIPTIONS = tomllib.loads(Path(__file__).with_name("earlier_descriptions.toml").read_text(encoding="utf-8"))

_PLAIN = (
    (r"confidence\), over\b", "confidence), ended"),
    (r"the users' waits limit the throughput, not the service", "not saturated: the users' think time sets the throughput"),
    (r"the users' waits limit the throughput", "the users' think time sets the throughput"),
    (r"nothing is saturated", "no limit reached"),
    (r"; provisional: no soak yet", "; provisional"),
    (r"nothing is said about the service beyond (\d+)", r"results above \1 users do not describe the service"),
    (r"nothing is said about the service at ([\d ,and]+) users", r"results at \1 users do not describe the service"),
    (r"could be as well:", "alternative cause:"),
    (r"a return to fewer users would tell", "a return to fewer users would show which"),
    (r"\bbend from\b", "scaling flattens from"),
    (r"shift: goodput (rose|fell) at (\d+) users? \(at ([^,]+), level \d+, column goodput, before ([\d.]+), after ([\d.]+)\)",
     r"goodput \1 from \4 to \5/s at \2 users, \3 after the start"),
    (r"(?<![\d.,])1 users\b", "1 user"),
    (r"is forked anew", "is forked again"),
    (r"are to be told", "must be distinguished"),
    (r" \([^()\n]*low load rps per user[^\n]*\)(?=\n)", ""),
    (r" \((?:users low|low load rps per user|knee not below users)[^\n]*\)(?=\n)", ""),
    (r"latency (?:knee|starts to climb) at (\d)", r"latency climbs from \1"),
    (r"a failure told inside", "a failure reported inside"),
    (r"half of what it can\)", "half of its capacity)"),
)  # fmt: skip


def reworded(text: str) -> str:
    """The text with each sentence of an earlier version replaced, and in tables each description of a fault."""
    for old, plain in _PLAIN:
        text = re.sub(old, plain, text)
    for earlier, present in _DESCRIPTIONS.items():
        text = text.replace(f": {earlier} |", f": {present} |")
    return text
