"""Pages of results are short; who may import whom. That they are those of the results: tests/pages/test_generated_pages.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.kit.runs import ROOT
from lab.pages import PAGES
from lab.trials.knees import page as knees
from lab.trials.knees.trial import KNEES, kept

MOST_BYTES = 6_144


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_results_is_a_summary(name: str) -> None:
    assert (ROOT / name).stat().st_size <= MOST_BYTES, "rows stay as data"


def test_the_picture_of_the_finders_is_that_of_the_results() -> None:
    assert knees.PICTURE.read_text(encoding="utf-8") == knees.pages(*map(kept, KNEES))[1]


OF_TESTS = "|".join(sorted(path.stem for path in (ROOT / "tests").glob("[a-z]*") if path.stem not in ("lab", "data")))


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        ("capexplorer", f"lab|tests|{OF_TESTS}"),
        ("lab", f"tests|{OF_TESTS}"),
        ("targets", "lab"),
        ("docs", r"lab\.(?:trials|bench|simulation)"),
        ("tests", r"lab\.(?:trials|bench)"),
    ],
)
def test_trials_are_imported_by_their_own_tests_alone_and_lab_imports_no_test(folder: str, others: str) -> None:
    pattern = re.compile(rf"^\s*(?:from|import) (?:{others})\b", re.MULTILINE)
    paths = [path for path in Path(ROOT / folder).rglob("*.py") if not path.is_relative_to(ROOT / "tests" / "lab")]
    assert [str(path) for path in paths if pattern.search(path.read_text(encoding="utf-8"))] == []
