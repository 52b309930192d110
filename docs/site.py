"""Builds the site into site/, from the pages as they are: `make site`.

Pages keep their places in the repository, so that a link leads to the same file here and on the code host: README.md is the front
page, and other files to which a page links are copied beside it. Zensical fails where a link or an anchor is broken; a page
without a place in the navigation (docs/site.toml) is refused here. tests/pages/test_links.py holds both, without Zensical.

Two pages exist on the site alone, since they are made of the code: the help of all commands, and the JSON Schemas.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import click

from capexplorer import cli
from capexplorer.commands import schema
from lab.kit.tables import table

ROOT = Path(__file__).parents[1]
SETTINGS = Path(__file__).with_suffix(".toml")
SITE = ROOT / "site"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
"""A link to another page or file (empty: to the same page), and its anchor."""


def navigation() -> list[str]:
    """Paths of all pages, in the order in which the site shows them."""
    return list(_pages_of(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["nav"]))


def _pages_of(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for each in part.values() if isinstance(part, dict) else part:
            yield from _pages_of(each)


def unplaced() -> list[str]:
    """Pages without a place in the navigation."""
    pages = {path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))}
    return sorted(pages - set(navigation()))


def lay_out(folder: Path) -> None:
    """Put the pages, and every other file to which they link, at their places below a folder."""
    for page in navigation():
        if page in MADE:
            (folder / page).parent.mkdir(parents=True, exist_ok=True)
            MADE[page](folder / page)
            continue
        _copy(ROOT / page, folder / page)
        for link, _ in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            linked = (ROOT / page).parent.joinpath(link).resolve()
            if linked.is_file() and linked.suffix != ".md":
                _copy(linked, folder / linked.relative_to(ROOT))


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def _options(page: Path) -> None:
    context = click.Context(cli.group, info_name="capexplorer", max_content_width=100, **cli.group.context_settings)
    helps = list(_helps(context, cli.group.list_commands(context)))
    page.write_text("\n".join(["# All options", "", *helps]), encoding="utf-8")


def _helps(parent: click.Context, names: Iterable[str]) -> Iterator[str]:
    """Each command as a heading and what its `--help` prints, then those below it."""
    for name in names:
        command = cast(click.Group, parent.command).get_command(parent, name)
        assert command is not None, f"{name} is listed, but cannot be loaded"
        context = click.Context(command, info_name=name, parent=parent, max_content_width=100)
        yield f"## {context.command_path.removeprefix('capexplorer ')}\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            yield from _helps(context, command.list_commands(context))


def _schemas(page: Path) -> None:
    for name in schema.SCHEMAS:
        text = json.dumps(schema.document(name), indent=2, ensure_ascii=False)
        page.with_name(f"{name}.schema.json").write_text(text, encoding="utf-8")
    rows = [(f"[{name}]({name}.schema.json)", each.title) for name, each in schema.SCHEMAS.items()]
    head = "Of the documents that programs read or write (draft 2020-12), as `capexplorer schema NAME` prints them."
    page.write_text(f"# JSON Schemas\n\n{head}\n\n{table(('schema', 'of'), rows)}\n", encoding="utf-8")


MADE: Mapping[str, Callable[[Path], None]] = {"reference/options.md": _options, "reference/schemas.md": _schemas}
"""Writers of the pages that only the site has."""


def main(zensical: str) -> int:
    """Exit code: 1 if a link leads nowhere or a page has no place; then site/ stays as it was."""
    if pages := unplaced():
        print(f"without a line in {SETTINGS.relative_to(ROOT)}: {', '.join(pages)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder / "docs")
        shutil.copyfile(SETTINGS, folder / "zensical.toml")
        built = subprocess.run([Path(zensical).resolve(), "build", "--strict"], cwd=folder, check=False)
        if built.returncode:
            return 1
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.copytree(folder / "site", SITE)
    print(f"built: {SITE.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
