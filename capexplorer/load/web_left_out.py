"""Keeps Locust's web interface from being loaded: it is not used here, and Flask, Jinja and Werkzeug take a quarter of the time
that Locust takes to start. A locustfile that asks for anything in `locust.web` gets the real module.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_NAME = "locust.web"


class _NotYet(ModuleType):
    """Stands for `locust.web`. `locust.env` takes its `WebUI` when it is loaded, and calls it only to open the interface."""

    @staticmethod
    def WebUI(*args: Any, **keywords: Any) -> Any:
        """A web interface, as Locust makes it."""
        return _loaded().WebUI(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of the import system, not of a locustfile
            raise AttributeError(name)
        return getattr(_loaded(), name)


def _loaded() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), _NotYet):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


def leave_out() -> None:
    """Call this before Locust is imported; later it does nothing."""
    if "locust" not in sys.modules:
        sys.modules.setdefault(_NAME, _NotYet(_NAME))
