"""docs/plans.md: the language of plans, from the docstring of its parser."""

from __future__ import annotations

import re

from capexplorer.steer import plan
from lab.kit.tables import table

HEAD = """\
# Plans

Which load comes when, as text: `run --plan "20:1m, ramp to 200 5m"`, a name of a profile's `[plans]`, or the key `p` on the
live screen. The parts of a plan are separated by commas or line ends; a duration is a number with ms, s (the default), m or h.
"""
TAIL = """\
A rate offers iterations, however late replies are ([rates.md](rates.md)). A plan that begins a run must make load: `60% knee`
and `verify` need `find knee` or levels of users before them, `60% capacity` needs levels of rates. An endurance test of a day
at 60% of the knee is `find knee, hold 60% knee 24h`.
"""
ROW = re.compile(r"^ {4}(\S.*?\S) {2,}(\S[^\n]*?)$", re.MULTILINE)
"""A line of the docstring: forms, separated by two blanks as well, then what they mean."""


def page() -> str:
    """The whole page."""
    text = plan.__doc__ or ""
    rows = [re.fullmatch(r"(.+?) {2,}((?:(?! {2}).)+)", f"{forms}  {meaning}") for forms, meaning in ROW.findall(text)]
    cells = [(", ".join(f"`{form}`" for form in re.split(r" {2,}", row[1])), row[2]) for row in rows if row]
    return "\n".join([HEAD, table(("part", "does"), cells), "", TAIL, text.strip().rpartition("\n\n")[2], ""])
