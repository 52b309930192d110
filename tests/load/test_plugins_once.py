"""Entry points of installed packages are read once, and selected as `importlib.metadata` selects them."""

from __future__ import annotations

from importlib import metadata
from unittest.mock import Mock

import pytest

from capexplorer.load.plugins_once import plugins_read_once


def names(group: str) -> set[str]:
    return {each.name for each in metadata.entry_points(group=group)}


def test_entry_points_that_are_read_once_equal_the_installed_ones() -> None:
    groups = ("console_scripts", "gevent.plugins.monkey.will_patch_all", "no.such.group")
    installed = [names(group) for group in groups]
    with plugins_read_once():
        assert [names(group) for group in groups] == installed
    assert installed[0] >= {"capexplorer", "locust"}


def test_the_metadata_of_installed_packages_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(wraps=metadata.distributions)
    monkeypatch.setattr(metadata, "distributions", counted)
    with plugins_read_once():
        for _ in range(3):
            names("console_scripts")
    assert counted.call_count == 1


def test_importlib_metadata_is_restored_even_after_an_exception() -> None:
    before = metadata.entry_points
    with pytest.raises(ZeroDivisionError), plugins_read_once():
        raise ZeroDivisionError
    assert metadata.entry_points is before
