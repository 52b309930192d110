"""Each attribute that the table of `load/hooks` replaces exists in its library, and its replacement is in place."""

from __future__ import annotations

from importlib import metadata
from unittest.mock import Mock

import pytest

from capexplorer.load.hooks.hook import AS_LOCUST_IS_IMPORTED, while_in_place

from .patched import Played, play


@pytest.fixture(scope="module")
def hooked() -> Played:
    return play("load.scenes.hooked")


def test_a_patched_process_has_the_replacements_of_its_start(hooked: Played) -> None:
    assert hooked["after_patching"] == []


def test_each_hook_of_the_table_replaces_an_attribute_that_exists(hooked: Played) -> None:
    assert hooked["of_all_phases"] == []
    assert hooked["missing_modules"] == []
    assert len(hooked["attributes"]) > 40


def test_no_attribute_is_in_two_hooks(hooked: Played) -> None:
    assert hooked["attributes_in_two_hooks"] == []


def test_what_is_put_in_place_again_replaces_the_original_and_not_its_replacement(hooked: Played) -> None:
    assert hooked["a_second_time"] == [1]


def test_an_attribute_that_a_library_no_longer_has_is_named_with_what_it_is_for(hooked: Played) -> None:
    missing = "capexplorer.load.guard HostGuard has no attribute `no_such`: decides on a retry"
    assert hooked["of_a_missing_attribute"] == missing


# -- entry points, while Locust is imported


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
