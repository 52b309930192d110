"""The error of a connection or a send. A module without a guard: those that use it install one when they are imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gevent


def error_of(act: Callable[[], Any]) -> str:
    """Type and errno of what it raises within ten seconds."""
    try:
        with gevent.Timeout(10):
            act()
    except BaseException as error:
        return f"{type(error).__name__} {getattr(error, 'errno', None)}"
    return "no error"
