"""The examples of docs/configuration.md are a valid configuration file."""

from __future__ import annotations

from capexplorer import toml
from capexplorer.configuration import Configuration
from capexplorer.tui.preferences import preferences_of

from .page_tables import ROOT


def test_the_file_of_examples_is_a_valid_configuration_file() -> None:
    path = ROOT / "docs" / "configuration.toml"
    configured = toml.load(path, Configuration)
    assert preferences_of(configured, str(path)).theme == "nord", "the theme of the example"
