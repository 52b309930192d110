"""Drawing: text, charts and their axes as segments of a terminal's cells."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
