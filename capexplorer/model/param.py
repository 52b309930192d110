"""The value of a parameter of a target."""

from __future__ import annotations

Param = str | int | float | bool
