"""Writes every generated page of docs/, those of results included: `make pages`.

python -m docs.pages            write them
python -m docs.pages --check    only name those that would change; exit code 1 if there are any
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import lab.pages
from docs import causes, commands, configuration, exports, keys, knee, man, plans, profiles, tour

ROOT = Path(__file__).parents[1]
PAGES: Mapping[str, Callable[[], str]] = {
    "docs/capexplorer.1": man.page,
    "docs/causes.md": causes.page,
    "docs/commands.md": commands.page,
    "docs/configuration.md": lambda: configuration.page(configuration.examples()),
    "docs/exports.md": exports.page,
    "docs/keys.md": keys.page,
    "docs/knee.md": lambda: knee.page(knee.text()),
    "docs/plans.md": plans.page,
    "docs/profiles.md": lambda: profiles.page(profiles.examples()),
    "docs/tour.md": tour.page,
    **lab.pages.PAGES,
}


def stale() -> dict[Path, str]:
    """Pages that their generator makes differently, with the text that it makes."""
    made = {ROOT / name: page() for name, page in PAGES.items()}
    return {path: text for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text}


def main(arguments: list[str]) -> int:
    """Exit code: 1 if `--check` found a page that would change."""
    changed = stale()
    for path, text in changed.items():
        print(path.relative_to(ROOT))
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
    return 1 if changed and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
