"""Each file of changes/ has a kind that towncrier knows, and something to say."""

from __future__ import annotations

import tomllib

from .page_tables import ROOT


def test_every_change_has_a_known_kind_and_a_sentence() -> None:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    kinds = {kind["directory"] for kind in configured["type"]}
    changes = [path for path in (ROOT / "changes").iterdir() if path.name not in configured["ignore"]]
    wrong = [path.name for path in changes if path.name.split(".")[1:] not in [[kind, "md"] for kind in kinds]]
    assert wrong == [], f"expected NAME.KIND.md, with one of {sorted(kinds)}"
    assert [path.name for path in changes if not path.read_text(encoding="utf-8").strip().endswith(".")] == []
