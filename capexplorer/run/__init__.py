"""The live run: combines load, probes, target and session log into one stream of events and one set of controls.

`live` is the run as others see it (EventSource, Controls); `pump` is its one thread that orders, records and ticks; the rest are
its parts. Must not know any screen.
"""

from __future__ import annotations
