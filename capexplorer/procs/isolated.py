"""The command that starts a process of this package: no module in the working folder can shadow one of the library's."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


def command(module: str, *arguments: str, has_site: bool = False) -> list[str]:
    """Words that run `main` of this module of capexplorer; `sys.argv[2:]` are the arguments. `has_site`: with the installed
    packages, without which a process starts sooner.
    """
    program = f"import sys; sys.path.append(sys.argv[1]); from {module} import main; main()"
    without_site = [] if has_site else ["-S"]
    return [sys.executable, "-I", *without_site, "-c", program, _PACKAGE_ROOT, *arguments]
