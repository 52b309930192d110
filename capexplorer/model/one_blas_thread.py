"""Loads numpy with one BLAS thread. Modules that import numpy import this before it, or their package does.

OpenBLAS starts a thread a core when numpy loads, and each spins while it waits: 0.15 s of CPU at every start. Matrices here have
a dozen rows. The variable is set for this import alone, because the services that a run starts inherit the environment.
"""

from __future__ import annotations

import os

_VARIABLE = "OPENBLAS_NUM_THREADS"

if _VARIABLE in os.environ:
    import numpy  # noqa: F401  the user's own choice
else:
    os.environ[_VARIABLE] = "1"
    import numpy  # noqa: F401

    del os.environ[_VARIABLE]
