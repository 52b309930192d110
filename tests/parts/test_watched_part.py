"""When a part is said to be unread, by a clock of the test's own."""

from __future__ import annotations

import os
import select
import shlex
import sys
from collections.abc import Iterator

import pytest

from capexplorer.model.watched import PartSpec
from capexplorer.parts.link import PartLink
from capexplorer.parts.part_messages import Noticed
from capexplorer.parts.watched_part import WatchedPart

SILENT = shlex.join([sys.executable, "-c", "import time; time.sleep(600)"])
"""A transport that has said nothing yet."""


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def wake() -> Iterator[int]:
    woken, wake = os.pipe()
    yield wake
    os.close(woken)
    os.close(wake)


def states(part: WatchedPart) -> list[str]:
    return [each.part.state for each in part.take() if isinstance(each, Noticed)]


def test_a_login_that_takes_long_is_no_part_that_cannot_be_read_for_twenty_seconds(wake: int) -> None:
    clock = Clock()
    part = WatchedPart(PartSpec(name="db", at=SILENT), lambda *_: None, clock, wake)
    part.poll()
    clock.now_s += 12.0
    assert states(part) == [], "it may still log in"
    clock.now_s += 9.0
    assert states(part) == ["unread"]
    part.link.close()


def test_a_transport_that_cannot_start_is_reported_after_five_seconds(wake: int) -> None:
    clock = Clock()
    part = WatchedPart(PartSpec(name="db", at="no-such-program db1"), lambda *_: None, clock, wake)
    part.poll()
    clock.now_s += 6.0
    assert states(part) == ["unread"]


def why_it_failed(at: str) -> str | None:
    """Why a transport gives no readings; waits until it has failed."""
    link = PartLink(at)
    link.poll(b"{}")
    while link.why is None:
        assert select.select(link.descriptors(), [], [], 60.0)[0], "the transport neither prints nor ends"
        assert not list(link.take())
    link.close()
    return link.why


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("yes", "the transport printed more than 8 MiB without an answer of the reader"),
        ("sh -c 'yes >&2'", "the transport printed more than 8 MiB without an answer of the reader"),
        ("sh -c 'cat /dev/zero'", "the transport printed more than 8 MiB without an answer of the reader"),
        ("true", "the transport ended"),
        ("sh -c 'echo Account locked >&2; exit 1'", "Account locked"),
        ("sh -c 'printf Account >&2; sleep 0.2; echo \" locked\" >&2; exit 1'", "Account locked"),
        ("sh -c 'cannot open /dev/tty </dev/tty'", "sh: 1: cannot open /dev/tty: No such device or address"),
    ],
)
def test_a_transport_that_is_no_shell_fails_with_one_line(at: str, why: str) -> None:
    assert why_it_failed(at) == why
