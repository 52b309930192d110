"""Mutants for the mutation score: which sample a seed gives, and what a mutant changes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mutmut", reason="make mutants installs it")

from lab.mutants.sample import mutants, sample  # noqa: E402

ABOVE = "def above(value, limit=3):\n    return value > limit and value != 0\n"
HALF = "class Values:\n    @property\n    def half(self):\n        return self.whole / 2\n"


def written(folder: Path, name: str, *texts: str) -> Path:
    path = folder / name
    path.write_text("\n".join(texts))
    return path


def test_a_seed_gives_the_same_mutants_after_a_function_moved_to_another_file(tmp_path: Path) -> None:
    apart = [written(tmp_path, "a.py", ABOVE), written(tmp_path, "b.py", HALF)]
    together = [written(tmp_path, "c.py", "import math\n", HALF, ABOVE)]
    keys = [[each.key for each in sample(paths, 4, seed=1)] for paths in (apart, together)]
    assert keys[0] == keys[1]
    assert [each.key for each in sample(apart, 4, seed=2)] != keys[0]


def test_a_mutant_has_the_changed_line_and_the_code_of_its_function(tmp_path: Path) -> None:
    found = {each.change[2][0].strip(): each for each in mutants(written(tmp_path, "a.py", HALF, ABOVE)) if each.change[2]}
    mutant = found["return value >= limit and value != 0"]
    assert (mutant.function, mutant.change[0], mutant.lines) == ("above", 7, range(7, 8))
    assert set(mutant.changed_codes()) == {("above", 6)}
    assert found["return self.whole * 2"].function == "Values.half", "decorated functions have mutants as well"


def test_a_default_of_a_parameter_is_no_mutant_since_only_code_is_replaced(tmp_path: Path) -> None:
    path = written(tmp_path, "a.py", ABOVE)
    assert any("limit=4" in each.change[2][0] for each in mutants(path))
    assert not any("limit=4" in each.change[2][0] for each in sample([path], 100, seed=1))
