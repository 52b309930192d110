"""docs/configuration.md has every key of the configuration file, and every action that can have other keys."""

from __future__ import annotations

from capexplorer import toml
from capexplorer.configuration import Configuration
from capexplorer.tui.preferences import preferences_of
from docs import configuration

from .tables import ROOT


def test_the_page_is_what_the_model_and_the_table_of_keys_make() -> None:
    on_disk = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert on_disk == configuration.page(configuration.examples()), "run `python docs/configuration.py`"


def test_the_examples_are_a_configuration_file() -> None:
    where = ROOT / "docs" / "configuration.toml"
    found = toml.load(where, Configuration)
    assert preferences_of(found, str(where)).theme == "nord"
