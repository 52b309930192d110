"""An epoch (one run of a target with one set of parameters): which of its seconds are settled, and which levels can be judged."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
