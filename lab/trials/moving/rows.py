"""All rows, in the order of the page."""

from __future__ import annotations

from . import database_rows, rate_rows, user_rows

ALL = {row.name: row for part in (user_rows, database_rows, rate_rows) for row in part.ROWS}
