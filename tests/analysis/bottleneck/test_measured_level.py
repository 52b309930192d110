"""Whether the URL of a level's service is one of loopback."""

from __future__ import annotations

import pytest

from capexplorer.analysis.bottleneck.measured_level import is_loopback_url


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000", True), ("http://[::1]:8000/x", True), ("http://localhost", True), ("", True),
        ("http://[::ffff:127.0.0.1]:8000", True), ("http://ip6-localhost:8000", True),
        ("http://192.0.2.1", False), ("http://localhost.example", False), ("http://[", False),
    ],
)  # fmt: skip
def test_loopback_addresses_are_the_same_as_for_the_guard_of_the_load(url: str, local: bool) -> None:
    assert is_loopback_url(url) is local
