"""Skips tests that need a program that is not installed. The reason names its Debian package."""

from __future__ import annotations

import pytest

from lab.kit.programs import find, missing

__all__ = ("find", "missing", "needs", "require")


def needs(*programs: str) -> pytest.MarkDecorator:
    """A mark that skips a test if one of these programs is not installed."""
    reason = missing(*programs)
    return pytest.mark.skipif(bool(reason), reason=reason)


def require(*programs: str) -> None:
    """Skip the test, or all tests of the fixture, that calls this if one of these programs is not installed."""
    if reason := missing(*programs):
        pytest.skip(reason)
