"""The live run: combines load, probes, target and session log into one stream of events and one set of controls.

`session_run` is the run as others see it (EventSource) and its session, `screens` its controls and who has them; `pump` is its
one thread that orders, records and ticks; the rest are its parts. Must not import `tui`.
"""

from __future__ import annotations
