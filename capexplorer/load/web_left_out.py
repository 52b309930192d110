"""Keeps Locust's web interface from being loaded: it is not used here, and Flask, Jinja and Werkzeug take a quarter of the time
that Locust takes to start. A locustfile that asks for anything in `locust.web` gets the real module.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_NAME = "locust.web"


class _LazyWeb(ModuleType):
    """Placeholder for `locust.web`, which imports the real module on first use. `locust.env` imports `WebUI` by name, and calls
    it only to open the interface.
    """

    @staticmethod
    def WebUI(*args: Any, **keywords: Any) -> Any:
        """Locust's own web interface."""
        return _loaded().WebUI(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by the import system, not by a locustfile
            raise AttributeError(name)
        return getattr(_loaded(), name)


def _loaded() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), _LazyWeb):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


def leave_out() -> None:
    """Call this before Locust is imported; later it does nothing."""
    if "locust" not in sys.modules:
        sys.modules.setdefault(_NAME, _LazyWeb(_NAME))
