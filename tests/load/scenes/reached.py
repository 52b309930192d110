"""Services of several kinds, asked in the load thread whether they can be reached."""

from __future__ import annotations

from capexplorer.load.before_users import why_unreachable
from capexplorer.load.load_thread import LoadThread


def asked(urls: dict[str, str]) -> dict[str, str | None]:
    """By kind: why the URL cannot be reached, or None. Users of kinds that begin with `tcp` do not use HTTP."""
    host = LoadThread(lambda report: None)
    host.start()

    def ask(kind: str, url: str) -> str | None:
        return host.call(lambda: why_unreachable(url, http=not kind.startswith("tcp")))

    found = {kind: ask(kind, url) for kind, url in urls.items()}
    host.stop()
    return found
