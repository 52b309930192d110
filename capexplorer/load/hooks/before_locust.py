"""What is replaced before Locust is imported, which takes half a second of CPU without it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import Any

from .hook import Hook

_WEB = "locust.web"


def read_once(entry_points: Callable[..., Any]) -> Callable[..., Any]:
    """Selects from the entry points that were read when it was made."""
    found = entry_points()

    def select(**wanted: Any) -> Any:
        return found.select(**wanted)

    return select


class _LazyWeb(ModuleType):
    """Placeholder for `locust.web`, which imports the real module on first use: a locustfile may ask for anything in it.
    `locust.env` imports `WebUI` by name, and calls it only to open the interface.
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
    if isinstance(sys.modules.get(_WEB), _LazyWeb):
        del sys.modules[_WEB]
    return importlib.import_module(_WEB)


def left_out(web: ModuleType | None) -> ModuleType:
    """The placeholder, unless the module is there already."""
    return web or _LazyWeb(_WEB)


AS_LOCUST_IS_IMPORTED = (
    Hook(
        metadata, "entry_points", read_once,
        "gevent asks for plugins at each of the 25 things it patches, and each time the files of every package were read: 0.07 s",
    ),
)  # fmt: skip
BEFORE_LOCUST = (
    Hook(
        sys.modules, _WEB, left_out,
        "its web interface is not used here: Flask, Jinja and Werkzeug take a quarter of the time that Locust takes to start",
    ),
)  # fmt: skip
