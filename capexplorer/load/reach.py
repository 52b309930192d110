"""Whether an already running service can be reached. Checked in a greenlet of the load thread before users run."""

from __future__ import annotations

import socket
import ssl
import warnings
from http.client import HTTPException
from urllib.parse import urlsplit

import requests

from ..addresses import port_of
from .signature import full_text, links

TIMEOUT_S = 5.0


def why_unreachable(url: str, *, http: bool) -> str | None:
    """Why the service cannot be reached, in a few words; None if it can.

    It can if it answers one GET with any HTTP status and any certificate, or accepts the connection and answers late. Without
    `http`, for users that speak another protocol, a connection is enough; without a known port nothing is checked. Takes at most
    two TIMEOUT_S.
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
    if port is not None:
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
