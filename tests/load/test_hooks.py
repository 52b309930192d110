"""Entry points while Locust is imported: they are read once."""

from __future__ import annotations

from importlib import metadata
from unittest.mock import Mock

import pytest

from capexplorer.load.hooks.hook import AS_LOCUST_IS_IMPORTED, while_in_place


def names(group: str) -> set[str]:
    return {each.name for each in metadata.entry_points(group=group)}


def test_entry_points_that_are_read_once_equal_the_installed_ones() -> None:
    groups = ("console_scripts", "gevent.plugins.monkey.will_patch_all", "no.such.group")
    installed = [names(group) for group in groups]
    with while_in_place(AS_LOCUST_IS_IMPORTED):
        assert [names(group) for group in groups] == installed
    assert installed[0] >= {"capexplorer", "locust"}


def test_the_metadata_of_installed_packages_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(wraps=metadata.distributions)
    monkeypatch.setattr(metadata, "distributions", counted)
    with while_in_place(AS_LOCUST_IS_IMPORTED):
        for _ in range(3):
            names("console_scripts")
    assert counted.call_count == 1


def test_importlib_metadata_is_restored_even_after_an_exception() -> None:
    before = metadata.entry_points
    with pytest.raises(ZeroDivisionError), while_in_place(AS_LOCUST_IS_IMPORTED):
        raise ZeroDivisionError
    assert metadata.entry_points is before
