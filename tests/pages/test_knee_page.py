"""docs/knee.md takes its thresholds from the code."""

from __future__ import annotations

import pytest

from docs import knee


def test_a_name_that_no_module_has_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\{OF_NO_USE\} is in \[\]"):
        knee.page("below {OF_NO_USE}")


def test_a_name_of_several_modules_needs_its_file_or_folder() -> None:
    with pytest.raises(ValueError, match="LITTLE_MOST"):
        knee.page("above {LITTLE_MOST}")
    assert knee.page("above {limit.LITTLE_MOST:.0%}").startswith("above 110%\n")


def test_a_constant_of_the_text_is_listed_with_its_value_and_the_begin_of_its_docstring() -> None:
    listed = knee.page("below {LINEAR_LIKELY}").splitlines()[-1]
    assert listed.startswith("| `crossing.LINEAR_LIKELY` | 0.93 | A level this far under the low-load line")
