"""Whether a running service can be reached from the load thread: real servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from capexplorer.load.before_users import why_unreachable

from ..servers import closed_port
from .rig import Rig, user_class

Make = Callable[..., Rig]


@pytest.fixture
def of(url: str, tls: str) -> dict[str, str]:
    """URLs by kind."""
    closed = f"http://127.0.0.1:{closed_port()}"
    return {
        "tls": tls, "https to http": url.replace("http", "https"), "closed": closed, "udp": closed.replace("http", "udp"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        *((answer, None) for answer in ("/200", "/401", "/404", "/503", "/hang", "tls")),
        ("/reset", "connection reset by peer"),
        ("/garbage", "no HTTP answer"),
        ("/silence", "no HTTP answer"),
        ("closed", "connection refused"),
        ("https to http", "no TLS (wrong version number)"),
    ],
)
def test_a_service_that_answers_anything_is_reachable(
    rig: Make, url: str, of: dict[str, str], kind: str, why: str | None
) -> None:
    asked = of.get(kind, f"{url}{kind}")
    assert rig(user_class("U")).host.call(lambda: why_unreachable(asked, http=True)) == why


@pytest.mark.parametrize(("kind", "why"), [("/garbage", None), ("closed", "connection refused"), ("udp", None)])
def test_for_users_without_http_a_connection_is_enough(
    rig: Make, url: str, of: dict[str, str], kind: str, why: str | None
) -> None:
    asked = of.get(kind, f"{url}{kind}")
    assert rig(user_class("U")).host.call(lambda: why_unreachable(asked, http=False)) == why
