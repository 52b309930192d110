"""What is asked of a service, and of a client, once before users run: whether the service can be reached, and the latency that a
client class adds by itself. In the load thread.
"""

from __future__ import annotations

import socket
import ssl
import warnings
from http.client import HTTPException
from urllib.parse import urlsplit

import locust
import requests
from locust.env import Environment

from ..addresses import port_of
from ..model.events import ClientOverhead
from ..model.histogram import LatencyHistogram
from .request_counts import uncounted
from .signature import full_text, links

TIMEOUT_S = 5.0


def why_unreachable(url: str, *, http: bool) -> str | None:
    """Why the service cannot be reached, in a few words; None if it can.

    It can if it answers one GET with any HTTP status and any certificate, or accepts the connection and answers late. Without
    `http`, for users that speak another protocol, a connection is enough; without a known port, or of `udp://HOST:PORT`, nothing
    is checked. Takes at most two TIMEOUT_S.
    """
    try:
        _get(url) if http else _connect(url)
    except requests.ReadTimeout:
        return None
    except (requests.RequestException, OSError) as error:
        return _phrase(error)
    return None


def _get(url: str) -> None:
    with requests.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the certificate is not verified
        session.trust_env = False  # no proxy
        session.get(url, timeout=TIMEOUT_S, verify=False, stream=True, allow_redirects=False).close()


def _connect(url: str) -> None:
    port = port_of(url)
    if port is not None and not url.startswith("udp:"):
        socket.create_connection((urlsplit(url).hostname or "", port), TIMEOUT_S).close()


def _phrase(error: BaseException) -> str | None:
    """The failure in a few words; None if a TLS alert shows a server that requires a client certificate."""
    chain = list(links(error))
    tls = next((link for link in chain if isinstance(link, ssl.SSLError)), None)
    if tls is not None:
        reason = (tls.reason or str(tls)).replace("_", " ").lower()
        return None if "alert" in reason else f"no TLS ({reason})"
    numbered = next((link for link in chain if isinstance(link, OSError) and link.errno and link.strerror), None)
    if numbered is not None:
        return (numbered.strerror or "").lower()
    if any(isinstance(link, TimeoutError | requests.Timeout) for link in chain):
        return f"no answer in {TIMEOUT_S:g} s"
    return "no HTTP answer" if any(isinstance(link, HTTPException) for link in chain) else full_text(error)


# -- client overhead


REQUESTS = 200
UNCOUNTED = 20
"""Initial requests that are not counted: they connect, import modules and warm caches."""


def client_overhead(kind: type[locust.User], url: str) -> ClientOverhead | None:
    """Median and p99 of 200 sequential requests of one user of this class to a null responder. In the load thread.

    None when the responder did not answer every request.
    """
    environment = Environment(user_classes=[])
    latencies_ms: list[float] = []

    def on_request(response_time: float, exception: object = None, **_: object) -> None:
        if exception is None:
            latencies_ms.append(response_time)

    environment.events.request.add_listener(on_request)  # type: ignore[no-untyped-call]
    user = type("FloorUser", (kind,), {"host": url, "abstract": False})(environment)
    with uncounted():
        for _ in range(UNCOUNTED + REQUESTS):
            user.client.get("/")
    if len(latencies_ms) < UNCOUNTED + REQUESTS:
        return None
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in latencies_ms[UNCOUNTED:]])
    p50_ms, p99_ms = histogram.percentiles_ms((0.50, 0.99))
    return ClientOverhead(p50_ms=p50_ms or 0.0, p99_ms=p99_ms or 0.0)
