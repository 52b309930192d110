"""How wide an interval is, in standard errors, and how many values a percentile needs. Each figure stands here once.

Printed intervals follow two conventions, which `wording.CONVENTIONS` states for the reader; there is no third.
"""

from __future__ import annotations

Z95 = 1.96
"""Half of a 95% interval in standard errors: what stands behind every `±`, and what every error bar shows."""

Z90 = 1.645
"""Half of a 90% interval in standard errors: makes a standard error of a printed `[low–high]`."""

ONE_SIDED_95 = 1.64
"""Standard errors of a one-sided 95% bound, for the gates of detectors and the bounds of objectives,
which were tuned with two decimals."""

PERCENTILE_VALUES_LEAST = {"p50": 20, "p95": 200, "p99": 1_000}
"""Values under which a percentile rests on too few: ten beyond it, and of the median ten on either side."""
