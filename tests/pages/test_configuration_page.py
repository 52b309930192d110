"""docs/configuration.md is generated: it has every key of the configuration file, and every action whose key users can change."""

from __future__ import annotations

from capexplorer import toml
from capexplorer.configuration import Configuration
from capexplorer.tui.preferences import preferences_of
from docs import configuration

from .page_tables import ROOT


def test_the_configuration_page_is_what_its_generator_makes() -> None:
    on_disk = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert on_disk == configuration.page(configuration.examples()), "run `python docs/configuration.py`"


def test_the_file_of_examples_is_a_valid_configuration_file() -> None:
    path = ROOT / "docs" / "configuration.toml"
    configured = toml.load(path, Configuration)
    assert preferences_of(configured, str(path)).theme == "nord", "the theme of the example"
