"""A linter of sentences: `python -m lab.phrases` (`make lint`) names phrases whose meaning a reader would have to guess.

It reads the strings of the product (docstrings, texts, fixed parts of f-strings), pages, profiles, targets and templates.
phrases.toml has each phrase with its plain form.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PHRASES = [
    (re.compile(each["pattern"], re.IGNORECASE), each["plain"])
    for each in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["phrase"]
]
ANY = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in PHRASES), re.IGNORECASE)
TEXTS = (
    "*.md", "docs/*.md", "docs/knee.template", "targets/**/*.md", "profiles/*.toml", "targets/*/target.toml",
    "capexplorer/report/templates/*", "capexplorer/model/causes.toml",
)  # fmt: skip
"""Files that are read as a whole, by paragraphs; CHANGELOG.md has sentences of earlier versions."""


def problems(text: str) -> Iterator[str]:
    """One line for each phrase in a text, with the plain form."""
    unwrapped = " ".join(text.split())
    if ANY.search(unwrapped):
        found = ((pattern.search(unwrapped), plain) for pattern, plain in PHRASES)
        yield from (f"`{match[0]}`: write {plain}" for match, plain in found if match is not None)


def texts() -> Iterator[tuple[Path, int, str]]:
    """(file, line, text) of all that is read."""
    for path in sorted((ROOT / "capexplorer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.lineno, node.value
    for path in sorted({path for pattern in TEXTS for path in ROOT.glob(pattern)} - {ROOT / "CHANGELOG.md"}):
        line = 1
        for paragraph in path.read_text("utf-8").split("\n\n"):
            yield path, line, paragraph
            line += paragraph.count("\n") + 2


def main() -> int:
    found = [f"{path.relative_to(ROOT)}:{line}: {problem}" for path, line, text in texts() for problem in problems(text)]
    print("\n".join(found), end="\n" * bool(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
