"""An epoch (one target, one set of parameters) and its levels: which seconds are settled, which levels can be judged."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
