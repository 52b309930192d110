"""The socket of a run: screens attach to it, steer, hand over the controls, read kept requests and see the end of the run."""

from __future__ import annotations

from capexplorer.model.kept_request import BRIEF_TEXT_MOST, Body, KeptRequest, Place, PlacedRequest, RequestBrief
from capexplorer.remote import run_sockets
from capexplorer.remote.attached import RemoteRequests
from capexplorer.remote.protocol import FromRun, Over

from .served_run import TIMEOUT_S, ServedRun


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
