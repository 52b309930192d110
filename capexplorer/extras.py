"""Packages that only some uses need: which extra of capexplorer brings each, and the line that says so where it is missing."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from .errors import InputError

EXTRAS = {
    "junitparser": "ci",
    "dns": "dns",
    "grpc": "grpc",
    "mcp": "mcp",
    "opentelemetry": "metrics",
    "prometheus_client": "metrics",
    "paho": "mqtt",
    "psycopg": "postgres",
    "redis": "redis",
    "gunicorn": "samples",
    "waitress": "samples",
    "wsgidav": "samples",
    "py-spy": "stacks",
    "websockets": "stacks",
}
"""Extras of pyproject.toml by the first name of the module that is imported; py-spy is a program."""


def is_of_an_extra(module: str) -> bool:
    """Whether an extra brings it."""
    return _first(module) in EXTRAS


def require(asked: str, *modules: str) -> None:
    """Raises InputError if one is not installed. `asked`: the option, command or file that needs them."""
    if said := lacking(*modules):
        raise InputError(f"{asked}: {said}")


def lacking(*modules: str) -> str:
    """Of those that are not installed, such as `needs grpc: pip install 'capexplorer[grpc]'`, by what made this environment;
    empty if all are."""
    missing = [module for module in modules if not _is_installed(module)]
    words = dict.fromkeys(f"'capexplorer[{EXTRAS[_first(each)]}]'" if is_of_an_extra(each) else each for each in missing)
    return f"needs {' and '.join(missing)}: {_installs()} {' '.join(words)}" if missing else ""


def _installs() -> str:
    """`pip install`, as it reaches this environment: `uv tool` and `pipx` keep each program in its own and leave a file there."""
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").exists():
        return f"uv pip install --python {shlex.quote(str(prefix))}"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx runpip {shlex.quote(prefix.name)} install"
    return "pip install"


def _first(module: str) -> str:
    return module.partition(".")[0]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
