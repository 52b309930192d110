"""Skips a test for want of a program, with one line that says which package brings it."""

from __future__ import annotations

import pytest

from trials.programs import find, missing

__all__ = ("find", "missing", "needs", "require")


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips a test where one of these is not installed."""
    reason = missing(*programs)
    return pytest.mark.skipif(bool(reason), reason=reason)


def require(*programs: str) -> None:
    """The same from within a test or a fixture."""
    if reason := missing(*programs):
        pytest.skip(reason)
