"""Mutants: copies of a module with one small fault each, made by mutmut's operators, and a sample of them.

A mutant's key comes from its function's name and text and from its number within the function, not from its file: the sample of
a seed changes by no more than the functions that changed, also when a function moves to another file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import CodeType

import libcst as cst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor, OuterFunctionProvider
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

Key = tuple[str, int]
"""Name and first line of a function."""


@dataclass(frozen=True)
class Mutant:
    """A replaced node of a module."""

    path: Path
    function: str
    """`Class.method` or `function`."""
    operator: str
    key: str
    module: cst.Module
    node: cst.CSTNode
    mutated_node: cst.CSTNode

    @cached_property
    def change(self) -> tuple[int, list[str], list[str]]:
        """The first changed line's number, the lines that were there, and those that replace them."""
        old, new = self.module.code.splitlines(), self._mutated_code.splitlines()
        begin = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        end = 0
        while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
            end += 1
        return begin + 1, old[begin : len(old) - end], new[begin : len(new) - end]

    @cached_property
    def lines(self) -> range:
        """The lines of the innermost statement that is changed; of one with a body, those of its head."""
        first = self.change[0]
        found = range(first, first + 1)
        for node in ast.walk(ast.parse(self.module.code)):
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None) or getattr(node, "cases", None)
                end = node.end_lineno or node.lineno
                if body:
                    head = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
                    end = max(node.lineno, head.lineno - 1)
                if first in range(node.lineno, end + 1):
                    found = range(node.lineno, end + 1)
        return found

    def changed_codes(self) -> dict[Key, CodeType]:
        """The changed code of its function and of functions within, by the key of the original. Empty if only a default of a
        parameter changed, or a text that means the same, or if parameters or free names did, which code alone cannot replace."""
        old, new = (self._codes(code) for code in (self.module.code, self._mutated_code))
        if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
            old, new = old[:1], new[:1]
        changed = {(a.co_qualname, a.co_firstlineno): b for a, b in zip(old, new, strict=True) if a != b}
        return changed if all(_signature(a) == _signature(b) for a, b in zip(old, new, strict=True)) else {}

    @property
    def _mutated_code(self) -> str:
        changed: str = self.module.deep_replace(self.node, self.mutated_node).code
        return changed

    def _codes(self, source: str) -> list[CodeType]:
        whole = compile(source, str(self.path.resolve()), "exec", dont_inherit=True)
        return [code for code in _codes_within(whole) if f"{code.co_qualname}.".startswith(f"{self.function}.")]


def sample(paths: list[Path], count: int, seed: int) -> list[Mutant]:
    """`count` mutants of these files, or all, in the order of a hash of seed and key."""
    ranked = sorted((mutant for path in paths for mutant in mutants(path)), key=lambda each: _hash(f"{seed} {each.key}"))
    chosen: list[Mutant] = []
    for mutant in ranked:
        if len(chosen) == count:
            break
        try:
            if mutant.changed_codes():
                chosen.append(mutant)
        except SyntaxError:  # a name that may not be assigned, for one
            continue
    return chosen


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of every function of a file."""
    wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
    visitor = _Mutations()
    wrapper.visit(visitor)
    module, names, counts = wrapper.module, _names(wrapper.module), dict.fromkeys(visitor.by_function, 0)
    texts = {function: module.code_for_node(function).strip() for function in visitor.by_function}
    for function, found in visitor.by_function.items():
        for node, mutated, operator in found:
            key = _hash(f"{names[function]} {counts[function]} {texts[function]}")
            counts[function] += 1
            yield Mutant(path, names[function], operator, key, module, node, mutated)


class _Mutations(MutationVisitor):  # type: ignore[misc]
    """Also decorated functions, as properties are, which mutmut cannot wrap and leaves out."""

    def __init__(self) -> None:
        super().__init__(mutation_operators, IgnoredCode(set(), set(), set()))
        self.by_function: dict[cst.FunctionDef, list[tuple[cst.CSTNode, cst.CSTNode, str]]] = {}

    def _create_mutations(self, node: cst.CSTNode) -> None:
        function = self.get_metadata(OuterFunctionProvider, node, None)
        if isinstance(function, cst.FunctionDef):
            for kind, operator in mutation_operators:
                if isinstance(node, kind):
                    name = operator.__name__.removeprefix("operator_")
                    self.by_function.setdefault(function, []).extend((node, mutated, name) for mutated in operator(node))

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        is_decorated = isinstance(node, cst.FunctionDef) and bool(node.decorators)
        return False if is_decorated else bool(super()._skip_node_and_children(node))


def _names(module: cst.Module) -> dict[cst.CSTNode, str]:
    """Functions of the module and of its classes."""
    names: dict[cst.CSTNode, str] = {}
    for node in module.body:
        if isinstance(node, cst.FunctionDef):
            names[node] = node.name.value
        elif isinstance(node, cst.ClassDef):
            names |= {
                each: f"{node.name.value}.{each.name.value}" for each in node.body.body if isinstance(each, cst.FunctionDef)
            }
    return names


def _codes_within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes_within(constant)


def _signature(code: CodeType) -> tuple[object, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_argcount, code.co_kwonlyargcount, code.co_varnames[:count], code.co_freevars


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
