"""A replacement of an attribute of a foreign object, and the function that puts it in place."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import Any

_ABSENT = object()


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One attribute of a module or a class of a library, and what takes its place."""

    owner: Any
    """The module or class; `sys.modules`, whose attributes are the modules by name."""
    attribute: str
    make: Callable[..., Any]
    """Gets the original, and the context that `put_in_place` is given; returns the replacement."""
    why: str
    is_added: bool = False
    """Whether the owner has no such attribute; the original is None."""

    @property
    def found(self) -> Any:
        """What the owner has now, as its class defines it: not bound. Raises AttributeError: the library has changed."""
        if self.owner is sys.modules:
            return sys.modules.get(self.attribute)
        found = inspect.getattr_static(self.owner, self.attribute, _ABSENT)
        if (found is _ABSENT) is not self.is_added:
            name = f"{getattr(self.owner, '__module__', '')} {self.owner.__name__}".strip()
            raise AttributeError(f"{name} has {'an' if self.is_added else 'no'} attribute `{self.attribute}`: {self.why}")
        return None if self.is_added else found

    def put(self, replacement: Any) -> None:
        """Put this in the attribute's place."""
        if self.owner is sys.modules:
            sys.modules[self.attribute] = replacement
        else:
            setattr(self.owner, self.attribute, replacement)


in_place: dict[Hook, Any] = {}
"""What `put_in_place` has put in place in this process."""

_originals: dict[Hook, Any] = {}


def put_in_place(hooks: Iterable[Hook], *context: Any) -> None:
    """Put all of them in place. A second call replaces the first. Raises AttributeError: a library has changed."""
    hooks = tuple(hooks)
    for each in hooks:  # before the first is replaced, which others may inherit
        if each not in _originals:
            _originals[each] = each.found
    for each in hooks:
        in_place[each] = each.make(_originals[each], *context)
        each.put(in_place[each])


@contextmanager
def while_in_place(hooks: Iterable[Hook], *context: Any) -> Iterator[None]:
    """A context in which they are in place."""
    hooks = tuple(hooks)
    put_in_place(hooks, *context)
    try:
        yield
    finally:
        for each in hooks:
            each.put(_originals[each])
            del in_place[each], _originals[each]


# -- before locust -------------------------------------------------------------------------------------------------------------
# What is replaced before Locust is imported, which takes half a second of CPU without it.


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
