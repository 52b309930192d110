"""Pure drawing: text, charts and their axes as lines of terminal cells."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
