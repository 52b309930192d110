"""Merges modules of the product as lab/merge_plan.txt says, and rewrites every import: no statement changes.

    python -m lab.merge_modules                 in a clean work tree; then `ruff check --fix`, `ruff format`, mypy, `make net`

A line of the plan is `TARGET: SOURCE SOURCE ...`, paths below capexplorer/ in the order in which they will stand; `.` is what the
target contains now (first, if it is not named). An indented line below it, `rename SOURCE OLD NEW`, renames a top-level name
where two sources have the same one. The docstring of a source becomes the comment at the head of its section.

What it prints as `look:` needs a person. It goes with the plan, once that is carried out.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ROOT / "capexplorer"
PLAN = Path(__file__).with_name("merge_plan.txt")
FOLDERS = ("capexplorer", "tests", "trials", "benchmarks", "docs", "lab", "targets", "profiles")
WIDTH = 128


@dataclass
class Group:
    """One file of the plan."""

    target: Path
    sources: list[Path]
    renames: dict[str, dict[str, str]] = field(default_factory=dict)
    """By module: new names by old ones."""

    @property
    def module(self) -> str:
        return module_of(self.target)

    def defined(self) -> set[str]:
        """The names that its sources define at top level."""
        return {node.name for path in self.sources for node in ast.parse(path.read_text()).body if isinstance(node, NAMED)}


NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def module_of(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> str:
    return module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]


def plan() -> list[Group]:
    """Raises ValueError for a source that does not exist."""
    groups: list[Group] = []
    for line in PLAN.read_text().splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if line[0].isspace():
            _, source, old, new = words
            groups[-1].renames.setdefault(module_of(PRODUCT / source), {})[old] = new
            continue
        target = PRODUCT / words[0].removesuffix(":")
        names = words[1:] if "." in words[1:] or not target.exists() else [".", *words[1:]]
        sources = [target if name == "." else PRODUCT / name for name in names]
        if missing := [path for path in sources if not path.exists()]:
            raise ValueError(f"{PLAN.name}: no such module: {missing[0].relative_to(PRODUCT)}")
        groups.append(Group(target, sources))
    return groups


class Merge:
    """The modules of the repository, and where each is going."""

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
        self.modules = {module_of(path): path for path in self.files}
        self.home = {module_of(path): group.target for group in groups for path in group.sources}
        self.moved = {
            module_of(path): group.module for group in groups for path in group.sources if module_of(path) != group.module
        }
        self.renames = {module: names for group in groups for module, names in group.renames.items()}
        self.defined = {group.module: group.defined() for group in groups}

    def carry_out(self) -> None:
        concerned = [path for path in self.files if module_of(path) in self.home or self._mentions(path.read_text())]
        texts = {path: self.rewritten(path, self.home.get(module_of(path), path)) for path in concerned}
        merged = {group.target: self.merged(group, texts) for group in self.groups}
        for path, text in {**texts, **merged}.items():
            if module_of(path) in self.moved or (module_of(path) in self.home and path not in merged):
                subprocess.run(["git", "rm", "-q", "--cached", str(path)], cwd=ROOT, check=True)
                path.unlink()
            else:
                path.write_text(text)
        self._rename_in_texts()

    def _mentions(self, text: str) -> bool:
        return any(module.rpartition(".")[2] in text for module in self.moved)

    def resolved(self, node: ast.ImportFrom, path: Path) -> str:
        """The module that an import names."""
        if not node.level:
            return node.module or ""
        parts = package_of(path).split(".")
        return ".".join([*parts[: len(parts) - (node.level - 1)], *([node.module] if node.module else [])])

    def rewritten(self, path: Path, home: Path) -> str:
        """The text of a file, with imports as seen from `home`, which it becomes a part of."""
        text, here = path.read_text(), module_of(home)
        tree, edits = ast.parse(text), Edits(text)
        spaces: dict[str, tuple[str | None, dict[str, str]]] = {}
        names: dict[str, str] = dict(self.renames.get(module_of(path), {}))
        for node in [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]:
            base, kept, changed = self.resolved(node, path), dict[str, list[str]](), False
            for alias in node.names:
                full, local = f"{base}.{alias.name}", alias.asname or alias.name
                to = self.moved.get(full, full)
                is_module = full in self.modules and not (to == base and alias.name in self.defined.get(base, ()))
                if is_module and (full in self.moved or (to == here and home != path)):
                    changed, last = True, to.rpartition(".")[2]
                    spaces[local] = (None if to == here else alias.asname or last, self.renames.get(full, {}))
                    if to != here:
                        kept.setdefault(to.rpartition(".")[0], []).append(last if not alias.asname else f"{last} as {local}")
                    continue
                source = self.moved.get(base, base)
                name = self.renames.get(base, {}).get(alias.name, alias.name)
                if name != alias.name and not alias.asname:
                    names[alias.name], changed = name, True
                if source == here and not is_module:
                    changed = True
                    if alias.asname and alias.asname != name:
                        names[alias.asname] = name
                    continue
                changed = changed or source != base
                kept.setdefault(source, []).append(name if alias.asname in (None, name) else f"{name} as {alias.asname}")
            if changed or (node.level and package_of(home) != package_of(path)):
                indent = "\n" + " " * node.col_offset
                lines = [f"from {self._named(module, home)} import {', '.join(found)}" for module, found in kept.items()]
                edits.replace(node, indent.join(lines) or ("pass" if node.col_offset else ""))
        self._rename(tree, edits, spaces, names, path)
        return edits.applied()

    def _named(self, module: str, home: Path) -> str:
        """The module as an import in `home` names it."""
        if not (module_of(home).startswith("capexplorer") and module.startswith("capexplorer")):
            return module
        at, to = package_of(home).split("."), module.split(".")
        common = next((index for index, (a, b) in enumerate(zip(at, to, strict=False)) if a != b), min(len(at), len(to)))
        return "." * (len(at) - common + 1) + ".".join(to[common:])

    def _rename(
        self,
        tree: ast.Module,
        edits: Edits,
        spaces: dict[str, tuple[str | None, dict[str, str]]],
        names: dict[str, str],
        path: Path,
    ) -> None:
        own, prefixes = self.renames.get(module_of(path), {}), set[int]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in spaces:
                space, renamed = spaces[node.value.id]
                name = renamed.get(node.attr, node.attr)
                prefixes.add(id(node.value))
                if (space, name) != (node.value.id, node.attr):
                    edits.replace(node, name if space is None else f"{space}.{name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and id(node) not in prefixes:
                space = spaces.get(node.id, (node.id, {}))[0]
                if space is None:
                    print(f"look: {path.relative_to(ROOT)}:{node.lineno}: {node.id} is used as a value")
                elif (new := names.get(node.id, space)) != node.id:
                    edits.replace(node, new)
            elif isinstance(node, NAMED) and node.col_offset == 0 and node.name in own:
                edits.rename_definition(node.lineno, node.name, own[node.name])

    def merged(self, group: Group, texts: dict[Path, str]) -> str:
        docstring, imports, typing, bodies, seen = "", "", "", list[str](), dict[str, Path]()
        for path in group.sources:
            found, above, body = parts_of(texts[path])
            docstring = found if not docstring or path == group.target else docstring
            guarded = re.search(r"^if TYPE_CHECKING:\n((?:    .*\n|\n)+)", above, re.MULTILINE)
            typing += guarded[1] if guarded else ""
            imports += above if guarded is None else above[: guarded.start()] + above[guarded.end() :]
            for node in ast.parse(body).body:
                if isinstance(node, NAMED) and node.name != "_" and node.name in seen:
                    print(f"look: {group.target.relative_to(PRODUCT)}: {node.name} of {seen[node.name].name} and {path.name}")
                if isinstance(node, NAMED):
                    seen[node.name] = path
            title = f"# -- {path.stem.replace('_', ' ')} "
            is_section = path != group.target and found and path.name != "__init__.py"
            bodies.append(f"{title:-<{WIDTH}}\n{as_comment(found)}\n\n\n{body}" if is_section else body)
        guard = f"if TYPE_CHECKING:\n{typing}" if typing else ""
        body = "\n\n\n".join(each for each in bodies if each)
        return f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n{imports}{guard}\n\n{body}\n'

    def _rename_in_texts(self) -> None:
        """Paths and dotted names of moved modules, in pages, settings and strings."""
        pages = [
            ROOT / "pyproject.toml",
            ROOT / "ARCHITECTURE.md",
            *(ROOT / "docs").glob("*.md"),
            *(ROOT / "docs").glob("*.toml"),
        ]
        moved = sorted(self.moved.items(), key=lambda each: -len(each[0]))
        for path in [*pages, *(each for each in self.files if each.exists())]:
            text = path.read_text()
            for old, new in moved:
                text = text.replace(f"{old.replace('.', '/')}.py", self.home[old].relative_to(ROOT).as_posix())
                text = re.sub(rf"{re.escape(old)}(?!\w)", new, text)
            if text != path.read_text():
                path.write_text(text)


class Edits:
    """Replacements in a text, by the places of its nodes."""

    def __init__(self, text: str) -> None:
        self.text, self.lines = text, text.splitlines(keepends=True)
        self.found: list[tuple[int, int, str]] = []

    def _at(self, line: int, column: int) -> int:
        return sum(map(len, self.lines[: line - 1])) + len(self.lines[line - 1].encode()[:column].decode())

    def replace(self, node: ast.expr | ast.stmt, new: str) -> None:
        end = self._at(node.end_lineno or node.lineno, node.end_col_offset or 0)
        self.found.append((self._at(node.lineno, node.col_offset), end, new))

    def rename_definition(self, line: int, old: str, new: str) -> None:
        start = self._at(line, 0) + self.lines[line - 1].index(old)
        self.found.append((start, start + len(old), new))

    def applied(self) -> str:
        text = self.text
        for start, end, new in sorted(self.found, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def parts_of(text: str) -> tuple[str, str, str]:
    """(docstring, imports, the rest) of a module."""
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    docstring, nodes = ast.get_docstring(tree, clean=False), tree.body
    start = end = (nodes[0].end_lineno or 0) if docstring is not None else 0
    for node in nodes[docstring is not None :]:
        guards = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if not guards and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        end = node.end_lineno or end
    imports = "".join(lines[start:end]).replace("from __future__ import annotations\n", "")
    return docstring or "", imports, "".join(lines[end:]).strip("\n")


def as_comment(docstring: str) -> str:
    paragraphs = []
    for each in docstring.strip().split("\n\n"):
        lines = each.splitlines()
        if any(len(line) > WIDTH for line in lines):
            lines = textwrap.wrap(" ".join(map(str.strip, lines)), WIDTH)
        paragraphs.append("\n".join(f"# {line}".rstrip() for line in lines))
    return "\n#\n".join(paragraphs)


if __name__ == "__main__":
    try:
        Merge(plan()).carry_out()
    except ValueError as error:
        sys.exit(str(error))
