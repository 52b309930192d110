"""The notation of intervals and times, printed once in each export, in the screen's help and by `export --help`."""

from __future__ import annotations

from ..model.intervals import Z95

INTERVALS = f"± is half of a 95% interval ({Z95:g} standard errors). Brackets, [low–high], hold a 90% interval."

MOMENTS = "Times such as 01:23 or 1:02:03 count from the session's start; wall-clock times name their time zone."

CONVENTIONS = f"{INTERVALS} {MOMENTS}"
