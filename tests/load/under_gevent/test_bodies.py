"""Replies of any size use a bounded amount of memory; a body over the bound fails with its own error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import locust
import pytest
from locust.env import Environment

from capexplorer.analysis.causes.classify import classify
from capexplorer.load.bodies import body_limit
from capexplorer.load.signature import signature_of
from capexplorer.load.workload import HTTP_USERS
from capexplorer.model.events import FailureSignature

pytestmark = pytest.mark.slow

body_limit.most_bytes = 16_000_000


class _Asked:
    """A user, and the signature of its latest request."""

    def __init__(self, kind: type[locust.User], url: str) -> None:
        environment = Environment(user_classes=[])
        environment.events.request.add_listener(self._on_request)  # type: ignore[no-untyped-call]
        self.client: Any = type("Large", (kind,), {"host": url, "abstract": False})(environment).client
        self.signature: FailureSignature | None = None

    def _on_request(self, exception: Any = None, **_: Any) -> None:
        self.signature = signature_of(exception) if exception else None


@pytest.fixture(params=HTTP_USERS, ids=lambda kind: str(kind.__name__))
def asked(request: pytest.FixtureRequest, url: str) -> _Asked:
    return _Asked(request.param, url)


@pytest.mark.parametrize("path", ["/bomb", "/bomb?deflate", "/bomb?br", "/endless"])
def test_a_body_over_the_bound_has_its_own_failure_and_the_client_continues(asked: _Asked, path: str) -> None:
    asked.client.get(path)
    plain = asked.signature
    with asked.client.get(path, catch_response=True) as response:
        assert not response.content
    for signature in (plain, asked.signature):
        assert signature is not None
        assert (signature.types[0], classify(signature, "Linux")) == ("BodyTooLarge", "body_too_large")
    asked.client.get("/ok")
    assert asked.signature is None


def test_a_head_over_the_bound_is_a_failure_before_it_is_read_to_its_end(asked: _Asked) -> None:
    asked.client.get("/huge-head")
    assert asked.signature is not None
    assert asked.signature.text in ("got more than # bytes when reading header line", "head larger than # bytes")


def test_memory_stays_bounded_with_bodies_over_the_bound() -> None:
    """Of this process, after all of the above: 300 MB more without the bound. A body of 16 MB in two copies, and the process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    assert int(status["VmHWM"].split()[0]) / 1024 < 200


@pytest.mark.parametrize(("kind", "options"), [(locust.HttpUser, {}), (locust.FastHttpUser, {"decode_content": False})])
def test_a_body_that_is_read_in_parts_has_no_bound(url: str, kind: type[locust.User], options: dict[str, Any]) -> None:
    response, read = _Asked(kind, url).client.get("/endless", stream=True), 0
    for part in response.iter_content(1_000_000, **options):
        read += len(part)
        if read > 20_000_000:
            break
    (response.release if hasattr(response, "release") else response.close)()
    assert read > 20_000_000
