"""Every clause that a conclusion may have has words of its own."""

from __future__ import annotations

from typing import get_args

import pytest

from capexplorer.model import conclusions
from capexplorer.wording.clauses import clause


@pytest.mark.parametrize("kind", get_args(conclusions.Clause), ids=lambda kind: kind.__name__)
def test_a_clause_has_words(kind: type) -> None:
    assert clause.dispatch(kind) is not clause.dispatch(object)


def test_an_unknown_clause_is_an_error() -> None:
    with pytest.raises(TypeError, match="no words for str"):
        clause("said by nobody")  # type: ignore[arg-type]
