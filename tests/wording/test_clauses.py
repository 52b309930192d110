"""Every kind of clause of the verdict line has its words in `capexplorer/wording/verdict.py`."""

from __future__ import annotations

from typing import get_args

import pytest

from capexplorer.model import conclusions
from capexplorer.wording.verdict import clause


@pytest.mark.parametrize("kind", get_args(conclusions.Clause), ids=lambda kind: kind.__name__)
def test_a_kind_of_clause_has_words_of_its_own(kind: type) -> None:
    assert clause.dispatch(kind) is not clause.dispatch(object)


def test_words_for_an_object_that_is_not_a_clause_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="no words for str"):
        clause("not a clause")  # type: ignore[arg-type]
