"""The app on a pseudo-terminal: only the screen is drawn there, not output of user code, and each end restores its settings."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.kit.terminal import OnTerminal, command_on_terminal, modes_left_on

pytestmark = pytest.mark.slow

END_OF_ALTERNATE_SCREEN = "\x1b[?1049l"
LOCAL_FLAGS = 3
"""Index of the local modes (`c_lflag`) in the settings of a terminal."""

CURSOR_BELOW_LINE_24 = re.compile(r"\x1b\[(?:2[5-9]|3\d|40);\d+H")
"""The escape sequence that moves the cursor to one of the lines 25 to 40, which a terminal of 24 lines does not have."""


@contextmanager
def demo_on_terminal(folder: Path, size: tuple[int, int] = (80, 24)) -> Iterator[OnTerminal]:
    """The app of `tests.tui.demo` on a terminal of its own. Descriptors 1 and 2 of its process are the file `sink`."""
    program = (sys.executable, "-m", "tests.tui.demo")
    with command_on_terminal(folder, program=program, size=size, DEMO_SINK=str(folder / "sink")) as demo:
        yield demo


def keepers_of(demo: OnTerminal) -> list[int]:
    """Process ids of the demo's terminal keepers: processes that reset the terminal if the app dies."""
    return demo.marked.pids("terminal_keeper")


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[OnTerminal]:
    with demo_on_terminal(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnTerminal]:
    """An app that has ended: keys were typed before its first paint, the terminal was resized, and its key q was pressed."""
    with demo_on_terminal(tmp_path_factory.mktemp("ended")) as running:
        running.type("+++")
        running.seen_s(b"level 3")
        running.seen_s(b"1 req/s")
        assert running.settings() != running.settings_before
        running.resize(120, 40)
        running.wait_for(lambda: CURSOR_BELOW_LINE_24.search(running.written), "a screen on 40 lines")
        running.wait_for(lambda: b"printed by user code" in sink(running).read_bytes(), "output of user code in the sink")
        assert keepers_of(running)
        running.type("q\r")
        assert running.exit_code() == 0
        running.seen_s(b"Ending(by='user'")
        yield running


def sink(demo: OnTerminal) -> Path:
    return demo.folder / "sink"


def test_output_of_the_process_never_reaches_the_screen(ended: OnTerminal) -> None:
    assert "written to descriptor 2" not in ended.written
    assert "printed by user code" not in ended.written
    written = sink(ended).read_text()
    assert "written to descriptor 2" in written
    assert "printed by user code" in written


def test_keys_typed_before_the_first_paint_have_their_effect(ended: OnTerminal) -> None:
    assert "level 3" in ended.written


def test_the_screen_follows_the_size_of_the_terminal_although_descriptor_1_is_a_file(ended: OnTerminal) -> None:
    before_resize, _, later = ended.written.partition("level 3")
    assert not CURSOR_BELOW_LINE_24.search(before_resize)
    assert CURSOR_BELOW_LINE_24.search(later)


def test_the_terminal_is_restored_after_quitting(ended: OnTerminal) -> None:
    assert END_OF_ALTERNATE_SCREEN in ended.written
    assert ended.settings() == ended.settings_before
    assert_modes_are_reset(ended.written)


def test_the_terminal_keeper_ends_with_an_app_that_was_quit(ended: OnTerminal) -> None:
    assert not keepers_of(ended)


# Other signals: tests/e2e/test_signals.py and test_idle_signal.py.
def test_sigint_ends_the_app_and_restores_the_terminal(demo: OnTerminal) -> None:
    demo.seen_s(b"users")
    os.kill(demo.process.pid, signal.SIGINT)
    assert demo.exit_code() == 0
    demo.seen_s(b"signal='SIGINT")
    assert demo.settings() == demo.settings_before


def assert_modes_are_reset(written: str) -> None:
    """The last change of each mode must be the one back."""
    assert modes_left_on(written) == []
    assert written.rfind("\x1b[<u") > 0, "the keyboard protocol was never changed"


def test_the_terminal_is_restored_when_the_process_is_killed(demo: OnTerminal) -> None:
    demo.seen_s(b"users")
    assert demo.settings() != demo.settings_before
    os.kill(demo.process.pid, signal.SIGKILL)
    assert demo.exit_code() == -signal.SIGKILL
    demo.seen_s(END_OF_ALTERNATE_SCREEN.encode())
    demo.wait_for(lambda: demo.settings() == demo.settings_before, "the settings are restored")
    assert_modes_are_reset(demo.written)


def test_the_terminal_keeper_leaves_settings_that_a_shell_changed_while_the_app_was_stopped(
    demo: OnTerminal,
) -> None:
    demo.seen_s(b"users")
    assert keepers_of(demo)
    os.kill(demo.process.pid, signal.SIGSTOP)
    settings_of_shell = demo.settings()
    settings_of_shell[LOCAL_FLAGS] |= termios.ISIG
    demo.set(settings_of_shell)
    os.kill(demo.process.pid, signal.SIGKILL)
    demo.exit_code()
    demo.seen_s(END_OF_ALTERNATE_SCREEN.encode())
    demo.wait_for(lambda: not keepers_of(demo), "the terminal keeper has ended")
    assert demo.settings() == settings_of_shell


def test_a_terminal_that_reports_no_size_is_drawn_as_80x24_and_left_at_a_signal(tmp_path: Path) -> None:
    """That of `docker run -d -it` until somebody attaches: two sizes were laid out in turn, and nothing else was done."""
    with demo_on_terminal(tmp_path, size=(0, 0)) as demo:
        demo.seen_s(b"1 req/s")
        demo.process.send_signal(signal.SIGTERM)
        demo.exit_code()
        assert CURSOR_BELOW_LINE_24.search(demo.written) is None
