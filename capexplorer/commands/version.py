"""`capexplorer --version`: what a bug report should contain."""

from __future__ import annotations

import platform

import click

from .. import __version__

LIBRARIES = ("locust", "gevent", "geventhttpclient", "textual", "numpy", "msgspec")


def show(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print the versions and exit, if the option is given."""
    if asked and not ctx.resilient_parsing:
        click.echo("\n".join(lines()))
        ctx.exit()


def lines() -> list[str]:
    """The program, Python, the libraries that make load and screen, and the machine's system."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libraries = ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)
    return [f"capexplorer {__version__}", f"Python    {python}", f"libraries {libraries}", f"platform  {platform.platform()}"]


def _version(name: str) -> str:
    from importlib import metadata  # every start imports this module

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
