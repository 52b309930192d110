"""A mark's evidence for the table of results, as `name value`; it does not depend on the wording of the product."""

from __future__ import annotations

from capexplorer.model.events import Mark

FIRST = ("count", "rate_per_s")
LEFT_OUT = ("endpoints", "example", "advice", "first_s", "last_s")
AT_MOST = 6


def in_words(mark: Mark) -> str:
    """`count 120, rate_per_s 11.2, ports_used 150`."""
    evidence = mark.finding.figures()
    names = [*(name for name in FIRST if name in evidence), *(name for name in evidence if name not in (*FIRST, *LEFT_OUT))]
    reported = [f"{name} {_figure(evidence[name])}" for name in names if evidence[name] not in (None, [], (), {}, "")]
    return ", ".join(reported[:AT_MOST]) or mark.state


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value)
