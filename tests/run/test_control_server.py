"""The socket of a run: screens attach, read kept requests and see its end; invalid bytes, too many or silent connections."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tui.fake_controls import FakeControls

from capexplorer.commands import attach, stop
from capexplorer.commands.terminal import SERVED
from capexplorer.errors import InputError
from capexplorer.model.controls import StepTo
from capexplorer.model.kept_request import BRIEF_TEXT_MOST, Body, KeptRequest, NoRequests, Place, PlacedRequest, RequestBrief
from capexplorer.model.load import Users
from capexplorer.remote import run_sockets
from capexplorer.remote.attached import RemoteRequests
from capexplorer.remote.protocol import PROTOCOL, FromRun, Hello, Over, Refused, encode, frame
from capexplorer.run import control_server
from capexplorer.run.control_server import PEERS_MOST, ControlServer
from capexplorer.run.screens import Screens
from lab.kit.runs import wait_until

from .bare_context import bare_context
from .served_run import TIMEOUT_S, WELCOME, ServedRun, messages_until_closed, shows_users, wait_until_screen_shows


def test_the_socket_is_private_and_is_found_by_the_id_of_its_session(served_run: ServedRun) -> None:
    assert served_run.path.stat().st_mode & 0o777 == 0o600
    assert run_sockets.find("s", run_sockets.running(), {}) == ("s", served_run.path)


def test_a_run_that_ends_sends_a_last_message_and_removes_its_socket(served_run: ServedRun) -> None:
    connection = served_run.connect("watch", "pts/1")
    served_run.server.close()
    found: list[FromRun] = []
    while not connection.is_lost and connection.wait_for_more(TIMEOUT_S):
        found += connection.take()
    assert connection.is_over
    assert Over() in found
    assert not served_run.path.exists()


def test_a_screen_that_only_watches_reads_the_kept_requests(served_run: ServedRun) -> None:
    brief = RequestBrief(why="first", method="GET", name="/a" * 500, status=503, error="503: busy")
    served_run.requests.add([PlacedRequest(Place("first", "x"), KeptRequest(brief=brief, received=Body(text="busy")))])
    requests = RemoteRequests(served_run.attach(watch=True))
    found = requests.briefs()
    assert [(each.error, len(each.name)) for each in found] == [("503: busy", BRIEF_TEXT_MOST)]
    whole = requests.request(found[0].number)
    assert whole is not None
    assert whole.received.text == "busy"
    assert whole.brief.name == brief.name
    assert requests.request(99) is None
    assert served_run.controls.calls == []


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Meanwhile this process can open no file or socket."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_megabyte_of_invalid_bytes_is_refused_and_logged(served_run: ServedRun) -> None:
    with served_run.raw_connection() as connection:
        connection.settimeout(TIMEOUT_S)
        try:
            connection.sendall(b"garbage!" * (1 << 17))
        except (BrokenPipeError, ConnectionResetError):  # the run closed it first
            pass
        assert [type(each) for each in messages_until_closed(connection)] in ([Refused], [])
    wait_until(lambda: served_run.logged, "a line in the log")
    assert served_run.logged == [
        "a connection to the run's socket was refused: a message of 1,734,439,522 bytes; at most 65,536 are taken"
    ]
    screen = served_run.attach()
    wait_until_screen_shows(screen, lambda: screen.state.holds, "another screen gets the controls")


def test_connections_beyond_the_limit_are_refused_and_screens_stay_attached(served_run: ServedRun) -> None:
    screen = served_run.attach()
    many = [served_run.raw_connection() for _ in range(PEERS_MOST)]
    refused = messages_until_closed(many[-1])
    assert refused == [Refused(why=f"{PEERS_MOST} connections are open already")]
    screen.do(StepTo(Users(4)))
    wait_until(lambda: served_run.controls.calls == [StepTo(Users(4))], "a step of the attached screen")


def test_the_thread_does_not_spin_while_no_descriptor_is_left_for_waiting_connections(
    served_run: ServedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, calls = served_run.attach(), Counter[str]()
    wait_until_screen_shows(screen, lambda: screen.state.holds, "the controls")
    turn, accept = ControlServer._turn, ControlServer._accept
    monkeypatch.setattr(ControlServer, "_turn", lambda server: (calls.update(["turn"]), turn(server)))
    monkeypatch.setattr(ControlServer, "_accept", lambda server, listener: (calls.update(["accept"]), accept(server, listener)))
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    served_run.opened += waiting
    with no_descriptor_left():
        for each in waiting:
            each.connect(str(served_run.path))
        calls.clear()
        wait_until(lambda: calls["turn"] >= 10, "turns of the thread")
        assert calls["accept"] <= 0.75 * calls["turn"], "almost each turn tries to accept: the thread spins"
    waiting[0].sendall(frame(encode(Hello(protocol=PROTOCOL, role="watch", name="late"))))
    wait_until_screen_shows(screen, lambda: screen.state.screens == 2, "the connection that waited")


def test_a_connection_that_reads_nothing_does_not_delay_others(served_run: ServedRun) -> None:
    screen = served_run.attach()
    with served_run.raw_connection() as silent:
        silent.sendall(frame(encode(Hello(protocol=PROTOCOL, role="watch", name="silent"))))
        wait_until_screen_shows(screen, lambda: screen.state.screens == 2, "the peer that reads nothing")
        for users in range(10):
            served_run.controls.change(load=Users(users))
            wait_until_screen_shows(screen, partial(shows_users, screen, users), "each change")


def test_a_screen_that_was_dropped_reconnects_and_steers(served_run: ServedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = served_run.attach()
    screen.do(StepTo(Users(2)))
    wait_until_screen_shows(screen, lambda: screen.state.holds, "the screen has the controls")
    with monkeypatch.context() as no_patience:
        no_patience.setattr(control_server, "UNREAD_WITHIN_S", -1.0)
        wait_until_screen_shows(screen, lambda: not screen.state.connected, "the screen is disconnected")
    wait_until_screen_shows(screen, lambda: screen.state.holds, "the controls on a new connection")
    screen.do(StepTo(Users(6)))
    wait_until(lambda: served_run.controls.calls == [StepTo(Users(2)), StepTo(Users(6))], "the step on the new connection")
    served_run.controls.change(load=Users(9))
    wait_until_screen_shows(screen, partial(shows_users, screen, 9), "a step by another screen")


def test_a_removed_socket_is_made_again_in_the_other_folder_and_screens_stay_attached(
    served_run: ServedRun, socket_folder: Path
) -> None:
    screen = served_run.attach()
    shutil.rmtree(socket_folder)
    socket_folder.write_text("no folder can be made here")
    elsewhere = socket_folder.with_name("b") / "s.sock"
    wait_until(elsewhere.exists, "a socket in the other folder")
    wait_until(lambda: run_sockets.find("s", run_sockets.running(), {}) == ("s", elsewhere), "the new socket listens")
    screen.do(StepTo(Users(6)))
    wait_until(lambda: served_run.controls.calls == [StepTo(Users(6))], "a step of the attached screen")


def test_stop_and_attach_report_a_removed_log_in_one_line(served_run: ServedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVED, "1")  # attach then needs no terminal
    assert attach.command.callback is not None
    assert stop.command.callback is not None
    with pytest.raises(InputError, match=r"/x/s.jsonl: the run goes on, but its log was removed"):
        attach.command.callback("s", False, None, False, None)
    screen = served_run.connect("watch", "pts/1")
    closing = threading.Thread(target=served_run.server.close)
    served_run.server.let_end(closing.start)
    with pytest.raises(InputError, match=r"/x/s.jsonl: the run has ended, but its log was removed"):
        stop.command.callback("s", None)
    closing.join(TIMEOUT_S)
    screen.take()
    with pytest.raises(InputError, match=r"/x/s.jsonl: the run has ended, but its log was removed"):
        attach._print_state(screen, has_ended=False)


def test_close_succeeds_if_the_thread_ends_before_it_is_woken(served_run: ServedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def write_late(fd: int, data: bytes) -> int:
        wait_until(lambda: not served_run.server._running.locked(), "the thread has ended")
        return write(fd, data)

    monkeypatch.setattr(os, "write", write_late)
    served_run.server.close()
    assert not served_run.path.exists()


def test_without_a_usable_folder_for_sockets_a_line_with_the_reason_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.setattr(run_sockets, "folders", lambda: [tmp_path / "taken"])
    context = bare_context()
    server = ControlServer(Screens(FakeControls(), context), NoRequests("none"), context)
    server.open(WELCOME)
    why = f"{tmp_path / 'taken'} is not a folder that only this user can enter"
    assert [line.text for line in context.log.drain(0.0)] == [f"no screen can be attached to this run: {why}"]
    server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_connection_of_another_user_is_refused(served_run: ServedRun, socket_folder: Path) -> None:
    for path in (socket_folder.parent, socket_folder, served_run.path):
        os.chmod(path, 0o777)
    pid = os.fork()
    if pid == 0:
        os.setuid(12_345)
        with served_run.raw_connection() as connection:
            os._exit(0 if messages_until_closed(connection) == [Refused(why="the run is another user's")] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
