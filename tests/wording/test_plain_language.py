"""No text of screens, help, exports, docs and docstrings has a phrase of `banned_phrases.toml`."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BANNED = [
    (re.compile(each["pattern"], re.IGNORECASE), each["plain"])
    for each in tomllib.loads((Path(__file__).parent / "banned_phrases.toml").read_text("utf-8"))["banned"]
]
PAGES_OF_DOCS = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("targets/**/*.md")] + [ROOT / "README.md", ROOT / "ARCHITECTURE.md"])
PROFILES_TARGETS_AND_TEMPLATES = sorted(
    [*ROOT.glob("profiles/*.toml"), *ROOT.glob("targets/*/target.toml"), *ROOT.glob("capexplorer/report/templates/*")]
)


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each string in a Python file: docstrings, texts and the fixed parts of f-strings."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def problems(path: Path, line: int, text: str) -> list[str]:
    """One line for each banned phrase in a text, with the plain form."""
    unwrapped = " ".join(text.split())
    found = ((pattern.search(unwrapped), plain) for pattern, plain in BANNED)
    return [f"{path.name}:{line}: `{match[0]}`: write {plain}" for match, plain in found if match is not None]


@pytest.mark.parametrize("folder", sorted({path.parent for path in ROOT.glob("capexplorer/**/*.py")}), ids=lambda path: path.name)
def test_no_text_or_docstring_of_the_product_has_a_banned_phrase(folder: Path) -> None:
    assert [
        each for path in sorted(folder.glob("*.py")) for line, text in strings_of(path) for each in problems(path, line, text)
    ] == []


@pytest.mark.parametrize("page", [*PAGES_OF_DOCS, *PROFILES_TARGETS_AND_TEMPLATES], ids=lambda path: path.name)
def test_no_page_has_a_banned_phrase(page: Path) -> None:
    paragraphs = page.read_text("utf-8").split("\n\n")
    starts = [1 + sum(each.count("\n") + 2 for each in paragraphs[:index]) for index in range(len(paragraphs))]
    assert [each for line, text in zip(starts, paragraphs, strict=True) for each in problems(page, line, text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "cause: connections are reset (high confidence), over",
        "nothing is said about the service beyond 74",
        "2 more levels would tell a first verdict",
        "nothing is saturated at 1 user; step up",
        "could be as well: connections are reset",
        "the session holds 1 users",
        "Errors are\n    told in one line.",
    ],
)
def test_a_banned_phrase_is_found(text: str) -> None:
    assert problems(Path("page.md"), 1, text)


@pytest.mark.parametrize("text", ["11 users", "1,001 users", "p95 is over 1,000 at 50 users", "a mean is over the ticks"])
def test_plain_text_has_no_banned_phrase(text: str) -> None:
    assert problems(Path("page.md"), 1, text) == []
