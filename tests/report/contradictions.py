"""Contradictions between two statements of a report, as data: patterns of the statements, and when their numbers contradict."""

from __future__ import annotations

import re
from collections.abc import Callable

# Statements of reports; each pattern has the number of users as its group.
NUMBER = r"([\d,.]+)"
KNEE = rf"(?<!no )(?<!latency )(?<!the )\bknee at (?:or below )?{NUMBER} users?"
NO_KNEE_IN_WORDS, NO_KNEE_IN_THE_TABLE = rf"no knee up to {NUMBER} users?", rf"\| knee[^|]*\| none up to {NUMBER}"
NO_KNEE = f"{NO_KNEE_IN_WORDS}|{NO_KNEE_IN_THE_TABLE}"
NO_LIMIT = rf"no limit reached at {NUMBER} users?"
THINK_TIME = rf"users' think time sets the throughput at {NUMBER} users?"
BOTTLENECK = rf"bottleneck: [^:]*? at {NUMBER} users?"
INVALID_ABOVE = rf"results above {NUMBER} users? do not describe the service"
ALL_INVALID = r"\bthe results do not describe the service()"


def always(first: float, second: float) -> bool:
    """A contradiction whatever the two numbers are."""
    return True


def beyond(first: float, second: float) -> bool:
    """A contradiction if the second number is greater than the first."""
    return second > first


CONTRADICTIONS: tuple[tuple[str, str, str, Callable[[float, float], bool]], ...] = (
    # its name, the pattern of each of the two statements, and for which pairs of their numbers they contradict each other
    ("no knee, and a knee", NO_KNEE, KNEE, always),
    ("two knees", KNEE, KNEE, lambda first, second: first != second),
    ("no limit reached, and a knee", NO_LIMIT, KNEE, always),
    ("no limit reached, and a bottleneck", NO_LIMIT, BOTTLENECK, always),
    ("think time sets the throughput, and a knee", THINK_TIME, KNEE, always),
    ("think time sets the throughput, and a bottleneck", THINK_TIME, BOTTLENECK, always),
    ("results above a count are invalid, and a knee above it", INVALID_ABOVE, KNEE, beyond),
    (
        "results above a count are invalid, and a bottleneck of the service above it",
        INVALID_ABOVE,
        rf"target: {BOTTLENECK}",
        beyond,
    ),
    ("results above a count are invalid, and no limit reached", INVALID_ABOVE, NO_LIMIT, always),
    ("all results are invalid, and a knee", ALL_INVALID, KNEE, always),
)


def numbers_in(pattern: str, text: str) -> list[float]:
    """The number in each match of the pattern; 0 for a match without a number."""
    matches = re.finditer(pattern, text, re.IGNORECASE)
    groups = (next((group for group in match.groups() if group), "0") for match in matches)
    return [float(group.replace(",", "").rstrip(".")) for group in groups]


def contradictions(text: str) -> list[str]:
    """Each contradiction in the statements about one epoch: its name, and the pairs of numbers."""
    wrong = []
    for name, first, second, is_wrong in CONTRADICTIONS:
        pairs = [(a, b) for a in numbers_in(first, text) for b in numbers_in(second, text) if is_wrong(a, b)]
        wrong += [f"{name}: {pairs}"] if pairs else []
    return wrong


def by_epoch(text: str) -> list[str]:
    """The text of each epoch: the lines that name it, and those that name none."""
    lines = [line for line in text.splitlines() if not line.startswith("- gone: ") and not line.startswith("gone: ")]
    named = [(re.search(r"\b(?:epoch |threads=)(\d+)", line, re.IGNORECASE), line) for line in lines]
    epochs = {match[1] for match, _ in named if match} or {""}
    return ["\n".join(line for match, line in named if match is None or match[1] == epoch) for epoch in sorted(epochs)]
