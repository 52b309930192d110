"""The live run: combines load, probes, target and session log into one stream of events and one set of controls.

`live` is the run as others see it (EventSource, RunControls; `screens` makes Controls of them); `pump` is its one thread that
orders, records and ticks; the rest are its parts. Must not import `tui`.
"""

from __future__ import annotations
