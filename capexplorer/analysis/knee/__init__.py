"""The knee of a capacity curve: whether there is one, where it lies, what limits it, with which confidence (docs/knee.md)."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
