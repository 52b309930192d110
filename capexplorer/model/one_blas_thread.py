"""Loads numpy with one BLAS thread. Modules that import numpy import this before it, or their package does.

OpenBLAS starts one thread per core when numpy loads, and each of them spins while it waits: 0.15 s of CPU at every start, for
matrices of a dozen rows. The variable is set only during this import, because services that a run starts inherit the environment.
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
