"""Leaks: memory or file descriptors that grow while the number of users stays the same."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
