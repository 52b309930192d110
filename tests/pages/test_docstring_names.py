"""A name of code in a docstring or comment of capexplorer exists: whoever searches for it finds what is meant."""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kit.package import PACKAGE, modules

NAME = re.compile(r"`(\w*[a-zA-Z]_[a-zA-Z]\w*)(?:\([^`]*\))?`")
"""An underscore makes it a name, not a word."""
FILE = re.compile(r"`(\w+\.py)`")
KINDS = {tokenize.NAME, tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
"""From Python 3.12 on an f-string is several tokens."""
ELSEWHERE = {
    "KEY_NAME_REPLACEMENTS": "Textual",
    "output_percentile_distribution": "HdrHistogram",
    "limit_req": "nginx",
    "lost_updates": "the name of a check in user code",
    "NAME_per_s": "how names of readings are made",
    "NAME_ms": "how names of readings are made",
    "goodput_fell": "made by `Shift.id`",
    "latency_rose": "made by `Shift.id`",
    "goodput_changed": "made by `Shift.id`",
}
"""Names that no code of capexplorer has, and where they are from."""


def test_a_name_in_a_docstring_exists() -> None:
    files = {path: _tokens(path) for path in modules()}
    known = {*dir(builtins), *(path.stem for path in files), *(path.name for path in files)}
    for tokens in files.values():
        for kind, text in tokens:
            if kind == tokenize.NAME:
                known.add(text)
            elif kind != tokenize.COMMENT and not _is_docstring(text):
                known.update(re.findall(r"\w+", text))
    named = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path, tokens in files.items()
        for kind, text in tokens
        if kind == tokenize.COMMENT or (kind == tokenize.STRING and _is_docstring(text))
        for name in (*NAME.findall(text), *FILE.findall(text))
    }
    assert {(place, name) for place, name in named if name not in known and name not in ELSEWHERE} == set()
    assert {name for _, name in named} >= set(ELSEWHERE), "delete the others from the list here"


@cache
def _tokens(path: Path) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
    return [(token.type, token.string) for token in tokens if token.type in KINDS]


def _is_docstring(text: str) -> bool:
    return text.startswith('"""')


QUALIFIED = re.compile(r"`(?:\w+\.)*([a-z]\w*)\.(\w+)(?:\([^`]*\))?`")
"""(module, name): what a text says to be in a module. Values of a class, of a package or of the standard library are none."""


def test_a_name_that_a_docstring_finds_in_a_module_is_there() -> None:
    files = modules()
    packages = {path.parent.name for path in files}
    homes: dict[str, set[str]] = {}
    for path in files:
        for name in _defined(path):
            homes.setdefault(name, set()).add(path.stem)
    lost = {
        (path.relative_to(PACKAGE).as_posix(), f"{module}.{name}")
        for path in files
        for kind, text in _tokens(path)
        if kind == tokenize.COMMENT or (kind == tokenize.STRING and _is_docstring(text))
        for module, name in QUALIFIED.findall(text)
        if module not in packages | sys.stdlib_module_names and module not in homes.get(name, {module})
    }
    assert lost == set()


def _defined(path: Path) -> Iterator[str]:
    """Functions, classes and constants of a module."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
