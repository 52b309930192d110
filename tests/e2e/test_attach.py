"""Runs that outlive their terminal: they go on, are attached to from other terminals, steered, and ended whole."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.model.events import Command, Ended, Event, LevelOpened, Log, Sample
from capexplorer.replay import Replay

from .pty_rig import OnTerminal, command_on_terminal, modes_left_on, on_terminal
from .rig import HERE, PROGRAM, Marked, capexplorer, events_in, of, session_path, until
from .sshd_rig import needs_root, needs_sshd, sshd

pytestmark = pytest.mark.slow

BRIEFLY = str(HERE / "profiles" / "briefly-unattended.toml")


@pytest.fixture(autouse=True, scope="module")
def runtime() -> Iterator[Path]:
    """A runtime folder for these runs alone; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name, pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


def assert_undisturbed(events: list[Event]) -> None:
    """Each second follows the one before, and no request failed."""
    samples = of(events, Sample)
    for before, after in zip(samples, samples[1:], strict=False):
        assert after.t_s - after.duration_s == pytest.approx(before.t_s, abs=0.01)
    assert not [sample for sample in samples if sample.failures]


def ended_of(events: list[Event]) -> Ended:
    assert isinstance(events[-1], Ended), events[-1]
    return events[-1]


def samples(run: OnTerminal, count: int) -> list[Sample]:
    run.wait_for(lambda: len(of(run.events(), Sample)) >= count, f"{count} seconds")
    return of(run.events(), Sample)


def level_of(run: OnTerminal, users: int) -> str:
    """The level at so many users, as the status names it."""
    run.wait_for(lambda: [each for each in of(run.events(), LevelOpened) if each.users == users], f"a level of {users} users")
    return f"level {[each.index for each in of(run.events(), LevelOpened) if each.users == users][-1]}"


def session_of(run: OnTerminal) -> str:
    path = session_path(run.sessions)
    assert path is not None
    return path.stem


def test_load_by_hand_continues_without_its_terminal_for_a_while_and_the_session_is_complete(tmp_path: Path) -> None:
    with on_terminal(tmp_path, BRIEFLY) as run:
        seen = len(samples(run, 2))
        run.hang_up()
        assert run.exit_code() == 0
    events = run.events()
    assert_undisturbed(events)
    assert len(of(events, Sample)) >= seen + 3
    assert {level.users for level in of(events, LevelOpened)} == {2}
    assert ended_of(events).reason == "no screen had the controls for 3 s ([guards] unattended_s)"
    assert of(events, Command)[-1].args == {"holder": None}


def test_a_plan_runs_to_its_end_without_its_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, BRIEFLY, "--plan", "3:5s") as run:
        samples(run, 2)
        os.kill(run.process.pid, signal.SIGHUP)
        run.wait_for(lambda: "the run goes on without this screen: " in run.written, "how to attach")
        assert not modes_left_on(run.written)
        assert run.exit_code() == 0
    assert_undisturbed(run.events())
    ended = ended_of(run.events())
    assert (ended.reason, ended.signal) == ("plan finished", None)


def share(run: OnTerminal, folder: Path) -> None:
    """Two screens beside the run's own: the controls are handed over and returned, a step is seen on each screen."""
    with (
        command_on_terminal(folder, "attach", session_of(run)) as other,
        command_on_terminal(folder, "attach", "--watch", session_of(run)) as watcher,
    ):
        other.wait_for(lambda: "has the controls; c asks for them" in other.written, "who has the controls")
        watcher.wait_for(lambda: "this screen only watches" in watcher.written, "that it only watches")
        other.type("++c")
        run.wait_for(lambda: "asks for the controls: c gives them" in run.written, "that it is asked")
        run.type("c")
        other.wait_for(lambda: "this screen has the controls; 3 screens" in other.written, "the controls")
        other.type("+")
        run.wait_for(lambda: level_of(run, 3) in run.written, "the step on the run's own screen")
        watcher.wait_for(lambda: level_of(run, 3) in watcher.written, "the step on the screen that watches")
        watcher.hang_up()
        other.type("q")
        other.wait_for(lambda: "The run goes on." in other.written, "the question")
        other.type("q")
        assert other.exit_code() == 0
        assert watcher.exit_code() == 128 + signal.SIGHUP
    run.wait_for(lambda: of(run.events(), Command)[-1].args.get("holder"), "the controls back")


def steer_to_the_end(run: OnTerminal, folder: Path) -> None:
    """A screen that is attached when the run's own terminal is gone steps, and ends the run."""
    with command_on_terminal(folder, "attach", session_of(run)) as screen:
        screen.wait_for(lambda: level_of(run, 3) in screen.written, "the level")
        screen.type("+")
        screen.wait_for(lambda: level_of(run, 4) in screen.written, "the level of the step")
        screen.type("Q")
        screen.wait_for(lambda: "End the run?" in screen.written, "the question")
        screen.type("y")
        screen.wait_for(lambda: "session ended" in screen.written, "the end")
        screen.type("q")
        assert screen.exit_code() == 0
        assert f"replay {session_of(run)}" in screen.written


@pytest.fixture(scope="module")
def attended(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """Of a run that is shared by three screens, loses its terminal, and is ended by a screen that is attached then."""
    folder = tmp_path_factory.mktemp("attended")
    with on_terminal(folder, "actor") as run:
        samples(run, 2)
        share(run, folder)
        run.hang_up()
        steer_to_the_end(run, folder)
        assert run.exit_code() == 0
    return run.events()


def test_only_the_screen_that_has_the_controls_steps_a_run_that_several_screens_share(attended: list[Event]) -> None:
    held = [each.args.get("holder") is not None for each in of(attended, Command) if each.name == "controls"]
    assert held == [False, True, True, False, True], "released, taken, returned; lost with the terminal, taken"
    assert list(dict.fromkeys(level.users for level in of(attended, LevelOpened))) == [2, 3, 4], "the keys ++ had no effect"


def test_an_attached_screen_ends_a_run_whose_terminal_is_gone(attended: list[Event]) -> None:
    assert ended_of(attended).reason == "ended by the user"


def test_screens_that_come_and_go_disturb_no_request(attended: list[Event]) -> None:
    assert_undisturbed(attended)


def test_a_detached_run_is_ready_when_the_command_returns_and_is_stopped_whole(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    started = capexplorer("run", "actor", "--detach", "--sessions-dir", str(sessions))
    assert started.returncode == 0, started.stderr
    session = started.stdout.strip()
    assert f"attach {session} shows it" in started.stderr
    listed = capexplorer("sessions", "--sessions-dir", str(sessions)).stdout
    assert re.search(rf"^{session} .* running$", listed, re.MULTILINE)
    until(lambda: len(of(events_in(sessions), Sample)) >= 2, "two seconds")
    stopped = capexplorer("stop", session)
    assert (stopped.returncode, stopped.stdout) == (0, f"{sessions / session}.jsonl\n"), stopped.stderr
    assert ended_of(events_in(sessions)).exit_code == 0
    assert_undisturbed(events_in(sessions))
    assert "running" not in capexplorer("sessions", "--sessions-dir", str(sessions)).stdout


def test_a_detached_run_that_cannot_start_says_why_with_its_exit_code(tmp_path: Path) -> None:
    words = ("--target-cmd", "/bin/false {port}", "--ready", "/", "--sessions-dir", str(tmp_path / "sessions"))
    failed = capexplorer("run", "actor", *words, "--detach")
    assert (failed.returncode, failed.stdout) == (4, "")
    assert failed.stderr.startswith("capexplorer: false: ended before it was ready (exit code 1)")


def test_attach_and_stop_without_a_run_say_so_in_a_line(tmp_path: Path) -> None:
    stopped = capexplorer("stop", "nothing")
    assert stopped.returncode == 2
    assert stopped.stderr.startswith("capexplorer: session `nothing` is not running") and stopped.stderr.count("\n") == 1


def test_garbage_at_the_socket_is_a_line_in_the_session_and_quitting_restores_the_terminal(tmp_path: Path, runtime: Path) -> None:
    import socket

    with on_terminal(tmp_path, "actor") as run:
        before = run.settings()
        samples(run, 2)
        assert run.settings() != before
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(runtime / "capexplorer" / f"{session_of(run)}.sock"))
            with pytest.raises(OSError):  # it is closed in the middle
                connection.sendall(b"\xff" * (1 << 20))
        run.wait_for(lambda: [each for each in of(run.events(), Log) if "socket was refused" in each.text], "a line")
        run.type("q")
        run.wait_for(lambda: "Quit?" in run.written, "the question")
        run.type("y")
        assert run.exit_code() == 0
        assert run.settings() == before
        run.assert_given_back()
    assert_undisturbed(run.events())
    ended = ended_of(run.events())
    assert (ended.signal, ended.exit_code) == (None, 0)


@needs_root
@needs_sshd
def test_a_killed_ssh_client_ends_its_screen_and_disturbs_no_request(tmp_path: Path) -> None:
    sessions, output = tmp_path / "sessions", tmp_path / "output"
    started, attached = Marked(), Marked()
    try:
        with sshd(tmp_path / "sshd") as server:
            client = server.client([PROGRAM, "run", "actor", "--sessions-dir", str(sessions)], started, output)
            until(lambda: len(of(events_in(sessions), Sample)) >= 2, "two seconds")
            client.kill()
            client.wait()
            until(lambda: of(events_in(sessions), Command), "that no screen has the controls")
            path = session_path(sessions)
            assert path is not None
            client = server.client([PROGRAM, "attach", path.stem], attached, tmp_path / "attached")
            until(lambda: b"settled" in (tmp_path / "attached").read_bytes(), "the attached screen")
            client.kill()
            client.wait()
            attached.assert_gone()
            until(lambda: len(of(events_in(sessions), Command)) == 3, "that no screen has the controls, again")
        assert capexplorer("stop", path.stem).returncode == 0
        started.assert_gone()
    finally:
        for marked in (started, attached):
            marked.kill_rest()
    replayed = Replay(path)
    replayed.read_on()
    assert not replayed.notes
    replayed.close()
    assert_undisturbed(events_in(sessions))
    handed = [each for each in of(events_in(sessions), Command) if each.name == "controls"]
    assert [each.args.get("holder") is not None for each in handed] == [False, True, False]
