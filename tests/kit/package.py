"""The files of the package that is tested: those of the checkout, or those that its wheel has installed (`make wheel-tests`)."""

from __future__ import annotations

from pathlib import Path

import capexplorer

PACKAGE = Path(capexplorer.__file__).resolve().parent


def modules(place: Path = PACKAGE) -> list[Path]:
    """The Python files of a folder of the package, or one file. Only a wheel has `shipped`, its copy of the samples."""
    if place.is_file():
        return [place]
    return sorted(path for path in place.rglob("*.py") if not path.is_relative_to(PACKAGE / "shipped"))
