"""The panes, one file each. A pane draws from (timeline, cursor, options) and knows neither what provides the timeline nor the
other panes."""

from ...model import one_blas_thread  # noqa: F401  before any module of this package loads numpy
