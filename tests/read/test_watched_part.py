"""When and why a watched part is reported as unread; a fake clock sets the time."""

from __future__ import annotations

import os
import select
import shlex
import sys
from collections.abc import Iterator

import pytest

from capexplorer.model.watched import PartSpec
from capexplorer.read.link import PartLink
from capexplorer.read.messages import Noticed
from capexplorer.read.parts_process import WatchedPart

SILENT_TRANSPORT = shlex.join([sys.executable, "-c", "import time; time.sleep(600)"])
"""It prints nothing, as a login that takes long."""


class FakeClock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def wake() -> Iterator[int]:
    """The write end of the pipe by which a part wakes its process."""
    read_end, write_end = os.pipe()
    yield write_end
    os.close(read_end)
    os.close(write_end)


def new_states(part: WatchedPart) -> list[str]:
    """States that the part has reported since the last call."""
    return [each.part.state for each in part.take() if isinstance(each, Noticed)]


def test_a_part_whose_transport_prints_nothing_is_unread_after_twenty_seconds(wake: int) -> None:
    clock = FakeClock()
    part = WatchedPart(PartSpec(name="db", at=SILENT_TRANSPORT), lambda *_: None, clock, wake)
    part.poll()
    clock.now_s += 12.0
    assert new_states(part) == [], "after 12 s the login may still succeed"
    clock.now_s += 9.0
    assert new_states(part) == ["unread"], "after 21 s"
    part.link.close()


def test_a_part_whose_transport_cannot_start_is_unread_after_five_seconds(wake: int) -> None:
    clock = FakeClock()
    part = WatchedPart(PartSpec(name="db", at="no-such-program db1"), lambda *_: None, clock, wake)
    part.poll()
    clock.now_s += 6.0
    assert new_states(part) == ["unread"]


def reason_of_failure(at: str) -> str | None:
    """Why a transport gives no readings; waits until it has failed."""
    link = PartLink(at)
    link.poll(b"{}")
    while link.why is None:
        assert select.select(link.descriptors(), [], [], 60.0)[0], "the transport neither prints nor ends"
        assert not list(link.take())
    link.close()
    return link.why


@pytest.mark.parametrize(
    ("at", "reason"),
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
def test_a_transport_without_a_shell_fails_with_a_reason_of_one_line(at: str, reason: str) -> None:
    assert reason_of_failure(at) == reason
