"""A replacement of an attribute of a foreign object, and the function that puts it in place."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
