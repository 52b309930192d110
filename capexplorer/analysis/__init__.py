"""Pure analysis: no clock, no I/O, no screen, no sentences. Each threshold is a named constant with its source."""

from ..model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
