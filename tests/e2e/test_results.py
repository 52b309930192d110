"""No request is lost: each reply that a service can send is a success or a failure, with each client, here and in workers."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest
from load.lean.cases import CASES
from load.lean.wire import wire

from capexplorer.model.events import ClientTick, Mark, Sample

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


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["here", "in two workers"])
def test_each_call_of_a_client_ends_as_a_success_or_a_failure(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Each user walks all cases once, and writes down its calls."""
    (calls := tmp_path / "calls").touch()
    cases = {name: (case.method, case.follows) for name, case in CASES.items()}
    (locustfile := tmp_path / "walk.py").write_text(LOCUSTFILE.format(cases=cases, calls=str(calls), ways=WAYS))
    with wire() as service:
        every_call = USERS * len(CASES) * WAYS
        arguments = ("-f", str(locustfile), "--host", service, "--headless", *workers, "--plan", f"{USERS}:10m")
        with started_run(tmp_path, *arguments) as run:
            wait_until(lambda: len(calls.read_text().splitlines()) == every_call, "every call")
            called = Counter(line.partition("|")[0] for line in calls.read_text().splitlines())
            last_s = run.wait_for_events(Sample)[-1].t_s
            run.wait_for_events(Sample, lambda sample: sample.t_s > last_s and not sample.endpoints, count=2)
            run.process.send_signal(signal.SIGTERM)
            assert run.exit_code() == 128 + signal.SIGTERM, run.stderr
    recorded, totals, in_flight = Counter[str](), Counter[str](), 0
    for sample in events_of(run.events(), Sample):
        for endpoint in sample.endpoints:
            recorded[endpoint.name] += endpoint.requests + endpoint.warmup_requests
        assert sample.clients is not None
        totals.update(msgspec.structs.asdict(sample.clients))
        in_flight += sample.clients.started - sample.clients.reported - sample.clients.abandoned
        assert 0 <= in_flight <= USERS, "more have ended than started, or a user has two in flight"
    assert recorded == called
    assert ClientTick(**totals) == ClientTick(started=every_call, reported=every_call)
    assert "user_code_error" not in {mark.id for mark in events_of(run.events(), Mark)}, "a reply is no error of user code"
    assert len(CASES) >= 80, "kinds of replies"
