"""The type of options that name a file of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..addresses import without_userinfo
from ..errors import InputError


class LocalFile(click.Path):
    """A path. A URL in its place is refused as it was typed: a path would lose one of its slashes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Raises InputError: a URL."""
        if "://" in str(value):
            named = param.opts[0] if isinstance(param, click.Option) else "FILE"
            raise InputError(f"{named}: expected a file of this machine, got {without_userinfo(str(value))}")
        return super().convert(value, param, ctx)
