"""How wide a printed interval is. Two conventions, which `wording.CONVENTIONS` tells the reader; there is no third."""

from __future__ import annotations

Z95 = 1.96
"""Half of a 95% interval in standard errors: what stands behind every `±`, and what every error bar shows."""

Z90 = 1.645
"""Half of a 90% interval in standard errors: `[low–high]`, of users at a knee or at an objective's edge."""
