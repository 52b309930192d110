"""The socket of a run, for real: screens of this process attach to it, and misbehave."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest
from tui.fake_controls import FakeControls

from capexplorer.commands import attach, stop
from capexplorer.commands.terminals import SERVED
from capexplorer.errors import InputError
from capexplorer.model.kept_request import BRIEF_TEXT_MOST, Body, KeptRequest, NoRequests, Place, PlacedRequest, RequestBrief
from capexplorer.remote import run_sockets
from capexplorer.remote.frames import FROM_RUN_MOST_BYTES, Frames, frame
from capexplorer.remote.protocol import PROTOCOL, FromRun, Hello, Over, Refused, Role, Welcome, encode, from_run
from capexplorer.remote.remote_controls import RemoteControls
from capexplorer.remote.remote_requests import RemoteRequests
from capexplorer.remote.run_connection import RunConnection
from capexplorer.run import control_peer
from capexplorer.run.control_server import PEERS_MOST, ControlServer
from capexplorer.run.request_store import RequestStore
from capexplorer.run.screens import Screen, Screens

PATIENCE_S = 60.0
WELCOME = Welcome(
    protocol=PROTOCOL,
    session="s",
    path="/x/s.jsonl",
    pid=os.getpid(),
    max_users=2_000,
    can_restart=True,
    plans={"short": "5:3s"},
    unattended_s=300.0,
)


class Run:
    """A server over controls that remember their calls."""

    def __init__(self, folder: Path) -> None:
        self.controls, self.logged, self.stops = FakeControls(), [], 0  # type: ignore[var-annotated]
        self.recorded: list[dict[str, object]] = []
        self.requests = RequestStore(lambda at_s: at_s)
        self.screens = Screens(lambda args: self.recorded.append(dict(args)))
        self.server = ControlServer(self.controls, self.screens, self.requests, lambda level, text: self.logged.append(text))
        self.server.stop = self._stop
        self.server.open(WELCOME)
        self.path, self.opened = folder / "s.sock", list[RunConnection | socket.socket]()

    def _stop(self) -> None:
        self.stops += 1

    def attach(self, name: str = "pts/1", *, watch: bool = False) -> RemoteControls:
        return RemoteControls(self.connect("watch" if watch else "steer", name), lambda plan, plans, most: None)

    def connect(self, role: Role, name: str) -> RunConnection:
        connection = RunConnection(self.path, role, name)
        self.opened.append(connection)
        return connection

    def raw(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(str(self.path))
        self.opened.append(connection)
        return connection


def until(condition: Callable[[], object], what: str) -> None:
    deadline_s = monotonic() + PATIENCE_S
    while not condition():
        assert monotonic() < deadline_s, f"not seen: {what}"
        sleep(0.01)


def until_reported_to(screen: RemoteControls, condition: Callable[[], object], what: str) -> None:
    until(lambda: screen.poll() and False or condition(), what)


def shows(screen: RemoteControls, users: int) -> bool:
    return screen.wanted == users


def answers(connection: socket.socket) -> list[FromRun]:
    """All that it says until it closes."""
    data = b""
    try:
        while chunk := connection.recv(65_536):
            data += chunk
    except ConnectionResetError:  # it closed before it had read everything
        pass
    return [from_run(each) for each in Frames(FROM_RUN_MOST_BYTES).feed(data)]


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """This process can open nothing meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder for sockets; its path is short."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        monkeypatch.setattr(run_sockets, "folders", lambda: [Path(name) / "a", Path(name) / "b"])
        yield Path(name) / "a"


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    made = Run(folder)
    yield made
    made.server.close()
    for each in made.opened:
        each.close()


def test_the_socket_is_private_and_is_found_by_its_session(run: Run) -> None:
    assert run.path.stat().st_mode & 0o777 == 0o600
    assert run_sockets.find("s") == ("s", run.path)


def test_a_screen_steers_and_sees_what_has_become_of_it(run: Run) -> None:
    screen = run.attach()
    until_reported_to(screen, lambda: screen.holds, "the controls")
    assert (screen.set_users(3), screen.set_users(5_000)) == (3, 2_000)
    assert screen.wanted == 2_000  # before the run has answered
    until(lambda: len(run.controls.calls) == 2, "both steps")
    assert run.controls.calls == [("set_users", 3), ("set_users", 2_000)]
    run.controls.wanted = 7
    until_reported_to(screen, lambda: screen.wanted == 7, "a step by another screen")


def test_one_of_two_screens_steers_until_it_hands_over(run: Run) -> None:
    first, second = run.attach("pts/1"), run.attach("pts/2")
    until_reported_to(second, lambda: second.holder == "pts/1" and second.screens == 2, "the other screen")
    second.set_users(9)
    second.ask()
    until_reported_to(first, lambda: first.asked_by == "pts/2", "the request of the other screen")
    first.give()
    until_reported_to(second, lambda: second.holds, "the controls")
    until_reported_to(first, lambda: not first.holds, "that it lost the controls")
    assert run.controls.calls == []
    second.zero()
    until(lambda: run.controls.calls == [("zero",)], "the step of the one that has them")


def test_a_restart_that_is_refused_says_why_at_once(run: Run) -> None:
    screen = run.attach()
    until_reported_to(screen, lambda: screen.holds, "the controls")
    with pytest.raises(InputError, match="threads: expected a whole number, got many"):
        screen.restart_target({"threads": "many"})
    screen.restart_target({"threads": "4"})
    assert run.controls.calls == [("restart_target", {"threads": "4"})]


def test_a_screen_that_ends_without_a_message_loses_the_controls_to_the_next(run: Run) -> None:
    gone, stays = run.connect("steer", "pts/1"), run.attach("pts/2")
    until_reported_to(stays, lambda: stays.holder == "pts/1", "the other screen")
    gone.close()
    until_reported_to(stays, lambda: stays.holds, "the controls")


def test_a_megabyte_of_garbage_is_refused_with_a_line_to_both_sides(run: Run) -> None:
    with run.raw() as connection:
        connection.settimeout(PATIENCE_S)
        try:
            connection.sendall(b"garbage!" * (1 << 17))
        except (BrokenPipeError, ConnectionResetError):  # it was not read to its end
            pass
        assert [type(each) for each in answers(connection)] in ([Refused], [])
    until(lambda: run.logged, "a line in the session")
    assert run.logged == [
        "a connection to the run's socket was refused: a message of 1,734,439,522 bytes; at most 65,536 are taken"
    ]
    screen = run.attach()
    until_reported_to(screen, lambda: screen.holds, "the controls, after that")


def test_too_many_connections_are_refused_and_attached_screens_stay(run: Run) -> None:
    screen = run.attach()
    many = [run.raw() for _ in range(PEERS_MOST)]
    refused = answers(many[-1])
    assert refused == [Refused(why=f"{PEERS_MOST} connections are open already")]
    screen.set_users(4)
    until(lambda: run.controls.calls == [("set_users", 4)], "a step beside them")


def test_connections_that_wait_while_no_descriptor_is_left_do_not_keep_the_thread_busy(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, calls = run.attach(), Counter[str]()
    until_reported_to(screen, lambda: screen.holds, "the controls")
    turn, accept = ControlServer._turn, ControlServer._accept
    monkeypatch.setattr(ControlServer, "_turn", lambda server: (calls.update(["turn"]), turn(server)))
    monkeypatch.setattr(ControlServer, "_accept", lambda server, listener: (calls.update(["accept"]), accept(server, listener)))
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    run.opened += waiting
    with no_descriptor_left():
        for each in waiting:
            each.connect(str(run.path))
        calls.clear()
        until(lambda: calls["turn"] >= 10, "turns of the thread")
        assert calls["accept"] <= 0.75 * calls["turn"], "each turn finds the connection again, and waits for nothing"
    waiting[0].sendall(frame(encode(Hello(protocol=PROTOCOL, role="watch", name="late"))))
    until_reported_to(screen, lambda: screen.screens == 2, "the connection that waited")


def test_a_peer_that_reads_nothing_delays_no_other(run: Run) -> None:
    screen = run.attach()
    with run.raw() as deaf:
        deaf.sendall(frame(encode(Hello(protocol=PROTOCOL, role="watch", name="deaf"))))
        until_reported_to(screen, lambda: screen.screens == 2, "the peer that reads nothing")
        for users in range(10):
            run.controls.wanted = users
            until_reported_to(screen, partial(shows, screen, users), "each change")


def test_a_screen_that_was_dropped_connects_again_and_acts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = run.attach()
    screen.set_users(2)
    until_reported_to(screen, lambda: screen.holds, "that it has the controls")
    with monkeypatch.context() as at_once:
        at_once.setattr(control_peer, "UNREAD_WITHIN_S", -1.0)
        until_reported_to(screen, lambda: not screen.connected, "that it was dropped")
    until_reported_to(screen, lambda: screen.holds, "the controls, on a new connection")
    screen.set_users(6)
    until(lambda: run.controls.calls == [("set_users", 2), ("set_users", 6)], "its steps")
    run.controls.wanted = 9
    until_reported_to(screen, partial(shows, screen, 9), "a change that it did not make")


def test_a_socket_that_is_removed_comes_back_and_attached_screens_stay(run: Run, folder: Path) -> None:
    screen = run.attach()
    shutil.rmtree(folder)
    folder.write_text("no folder can be made here")
    elsewhere = folder.with_name("b") / "s.sock"
    until(elsewhere.exists, "a socket in the other folder")
    until(lambda: run_sockets.find("s") == ("s", elsewhere), "that it listens")
    screen.set_users(6)
    until(lambda: run.controls.calls == [("set_users", 6)], "a step of the one attached before")


def test_a_log_that_was_removed_is_a_line_of_stop_and_attach(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVED, "1")  # so that no terminal is needed
    assert attach.command.callback is not None and stop.command.callback is not None
    with pytest.raises(InputError, match=r"/x/s.jsonl: the run goes on, but its log was removed"):
        attach.command.callback("s", False, None, False)
    screen = run.connect("watch", "pts/1")
    closing = threading.Thread(target=run.server.close)
    run.server.stop = closing.start
    with pytest.raises(InputError, match=r"/x/s.jsonl: the run has ended, but its log was removed"):
        stop.command.callback("s")
    closing.join(PATIENCE_S)
    screen.take()
    with pytest.raises(InputError, match=r"/x/s.jsonl: the run has ended, but its log was removed"):
        attach._print_state(screen, has_ended=False)


def test_a_run_that_ends_sends_a_last_message_and_removes_its_socket(run: Run) -> None:
    connection = run.connect("watch", "pts/1")
    run.server.close()
    found: list[FromRun] = []
    while not connection.is_lost and connection.wait_for_more(PATIENCE_S):
        found += connection.take()
    assert connection.is_over and Over() in found
    assert not run.path.exists()


def test_the_thread_may_end_before_close_wakes_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def write_late(fd: int, data: bytes) -> int:
        until(lambda: not run.server._running.locked(), "that the thread has ended")
        return write(fd, data)

    monkeypatch.setattr(os, "write", write_late)
    run.server.close()
    assert not run.path.exists()


def test_without_a_usable_folder_the_session_logs_it_and_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_sockets, "folders", list)
    logged: list[str] = []
    server = ControlServer(
        FakeControls(), Screens(lambda args: None), NoRequests("none"), lambda level, text: logged.append(text)
    )
    server.open(WELCOME)
    assert logged == ["no socket can be made in the user's runtime folder: no screen can be attached"]
    server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_refused(run: Run, folder: Path) -> None:
    for path in (folder.parent, folder, run.path):
        os.chmod(path, 0o777)
    pid = os.fork()
    if pid == 0:
        os.setuid(12_345)
        with run.raw() as connection:
            os._exit(0 if answers(connection) == [Refused(why="the run is another user's")] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_the_runs_own_screen_and_an_attached_one_share_the_controls(run: Run) -> None:
    own = Screen("pts/0", may_steer=True)
    run.screens.begin(own)
    screen = run.attach()
    until_reported_to(screen, lambda: screen.holder == "pts/0", "the holder of the controls")
    screen.ask()
    until(lambda: run.screens.asked_by == "pts/1", "the request of the other screen")
    run.screens.give(own)
    until_reported_to(screen, lambda: screen.holds, "the controls")
    assert run.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/1"}]


def test_an_attached_screen_gets_kept_requests_on_demand_even_if_it_only_watches(run: Run) -> None:
    brief = RequestBrief(why="first", method="GET", name="/a" * 500, status=503, error="503: busy")
    run.requests.add([PlacedRequest(Place("first", "x"), KeptRequest(brief=brief, received=Body(text="busy")))])
    requests = RemoteRequests(run.attach(watch=True))
    found = requests.briefs()
    assert [(each.error, len(each.name)) for each in found] == [("503: busy", BRIEF_TEXT_MOST)]
    whole = requests.request(found[0].number)
    assert whole is not None and (whole.received.text, whole.brief.name) == ("busy", brief.name)
    assert requests.request(99) is None
    assert run.controls.calls == []
