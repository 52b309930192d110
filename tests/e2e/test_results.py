"""No request is lost: each reply that a service can send is a success or a failure, with each client, here and in workers."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from load.lean.cases import CASES
from load.lean.wire import wire

from capexplorer.model.events import ClientTick, Event, Mark, Sample

from .rig import events_of, started_run, wait_until

pytestmark = pytest.mark.slow

WAYS = 3
"""Ways of user code to send a request: without a with-block, with one, and with one that an exception of user code leaves."""
USERS = 3
"""One of each client."""

LOCUSTFILE = dedent("""
    import os
    import time
    from urllib.parse import quote

    from locust import FastHttpUser, HttpUser, constant
    from capexplorer.users import LeanHttpUser

    CASES = {cases!r}
    CALLS = os.open({calls!r}, os.O_WRONLY | os.O_APPEND)


    def walk(user):
        for way in range({ways}):
            for case, (method, follows) in CASES.items():
                os.write(CALLS, f"{{user.kind}}|{{case}}|{{way}}\\n".encode())
                options = dict(user.options, name=user.kind, allow_redirects=follows, catch_response=way > 0)
                response = user.client.request(method, f"/{{quote(case)}}/whole", **options)
                if way == 1:
                    with response:
                        pass
                elif way == 2:
                    try:
                        with response:
                            response.json()
                    except (TypeError, ValueError):
                        pass
        while True:
            time.sleep(1)


    class HttpWalk(HttpUser):
        wait_time, tasks = constant(0), [walk]
        kind, options = "HttpUser", {{"timeout": 0.5}}


    class FastWalk(FastHttpUser):
        wait_time, tasks = constant(0), [walk]
        kind, options, network_timeout = "FastHttpUser", {{}}, 0.5


    class LeanWalk(LeanHttpUser):
        wait_time, tasks = constant(0), [walk]
        kind, options, network_timeout = "LeanHttpUser", {{}}, 0.5
""")


@dataclass(frozen=True, slots=True)
class Walked:
    """A run in which each user walks all cases once, and what the users called."""

    calls: Counter[str]
    """By client."""
    events: list[Event]

    def samples(self) -> list[Sample]:
        return events_of(self.events, Sample)

    def clients(self) -> ClientTick:
        """The sums over the run."""
        ticks = [sample.clients for sample in self.samples() if sample.clients is not None]
        assert len(ticks) == len(self.samples())
        return ClientTick(**{field: sum(getattr(each, field) for each in ticks) for field in ClientTick.__struct_fields__})

    def requests(self) -> Counter[str]:
        """Requests in the log by endpoint."""
        found: Counter[str] = Counter()
        for sample in self.samples():
            for endpoint in sample.endpoints:
                found[endpoint.name] += endpoint.requests + endpoint.warmup_requests
        return found


@pytest.fixture(scope="module", params=["here", "in two workers"])
def walked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    folder: Path = tmp_path_factory.mktemp("walked")
    calls = folder / "calls"
    calls.touch()
    cases = {name: (case.method, case.follows) for name, case in CASES.items()}
    locustfile = folder / "walk.py"
    locustfile.write_text(LOCUSTFILE.format(cases=cases, calls=str(calls), ways=WAYS))
    with wire() as service:
        workers = () if request.param == "here" else ("--workers", "2")
        every_call = USERS * len(CASES) * WAYS
        arguments = ("-f", str(locustfile), "--host", service.url, "--headless", *workers, "--plan", f"{USERS}:10m")
        with started_run(folder, *arguments) as run:
            wait_until(lambda: len(calls.read_text().splitlines()) == every_call, "every call")
            by_client = Counter(line.partition("|")[0] for line in calls.read_text().splitlines())
            last_s = run.wait_for_events(Sample)[-1].t_s
            run.wait_for_events(Sample, lambda sample: sample.t_s > last_s and not sample.endpoints, count=2)
            run.process.send_signal(signal.SIGTERM)
            assert run.exit_code() == 128 + signal.SIGTERM, run.stderr
            yield Walked(by_client, run.events())


def test_there_are_eighty_kinds_of_replies() -> None:
    assert len(CASES) >= 80


def test_each_call_of_a_client_ends_as_a_success_or_a_failure(walked: Walked) -> None:
    assert walked.requests() == walked.calls
    assert walked.clients() == ClientTick(started=walked.calls.total(), reported=walked.calls.total())


def test_at_no_time_have_more_requests_ended_than_started_and_no_user_has_two_in_flight(walked: Walked) -> None:
    in_flight = 0
    for sample in walked.samples():
        assert sample.clients is not None
        in_flight += sample.clients.started - sample.clients.reported - sample.clients.abandoned
        assert 0 <= in_flight <= USERS


def test_a_reply_is_no_error_of_user_code(walked: Walked) -> None:
    assert "user_code_error" not in {mark.id for mark in events_of(walked.events, Mark)}
