"""What the lean client does not do is refused in one line: where in the locustfile, and which class does it."""

from __future__ import annotations

import inspect

from ..user_code import UserCodeFault

REMEDIES = {
    "proxies": "which HttpUser takes, or `proxy_host` of FastHttpUser",
    "cert": "a client certificate: give `ssl_context_factory` of the class a context with `load_cert_chain`, or use HttpUser",
    "hooks": "which HttpUser takes; here a listener of `events.request` sees each response",
    "max_retries": "since a failed attempt is a failure here: repeat the request in the task, or use FastHttpUser",
    "mount": "since it has no adapters of requests: use HttpUser",
    "proxy_host": "since it has no proxy: use FastHttpUser",
    "proxy_port": "since it has no proxy: use FastHttpUser",
    "pool_manager": "which is urllib3's: use HttpUser, or share connections by `client_pool`",
}
"""By argument or attribute: the end of the sentence that begins with `LeanHttpUser does not take ...`."""

_INSIDE = ("capexplorer", "contextlib", "gevent", "locust")
"""Top-level modules that may lie between the locustfile and the client."""


class LeanRefusal(UserCodeFault):
    """User code asks for something that the lean client does not do. Its text begins with the place in the locustfile."""


def refused(name: str, remedy: str | None = None) -> LeanRefusal:
    """The error for an argument or attribute. `remedy`: the end of the sentence; None: that of `REMEDIES`."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE:
        frame = frame.f_back
    place = "" if frame is None else f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}"
    return LeanRefusal(f"{place}: LeanHttpUser does not take `{name}`, {remedy or REMEDIES.get(name, 'nor does FastHttpUser')}")
