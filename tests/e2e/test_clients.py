"""A session says which client classes the users of a locustfile were built on; others: test_locustfiles.py, test_headless.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Header

from .rig import HERE, answer, ended, of

pytestmark = pytest.mark.slow

PLAN = ("--headless", "--plan", "2:4s")


@pytest.mark.parametrize(
    ("locustfile", "classes", "client_name"),
    [
        ("requests_only.py", ("HttpUser",), "requests (HttpUser)"),
        ("raw_user.py", ("FastHttpUser", "User"), "fast (FastHttpUser) + other (User)"),
    ],
)
def test_the_clients_of_a_locustfile_are_those_that_made_the_requests(
    locustfile: str, classes: tuple[str, ...], client_name: str, tmp_path: Path
) -> None:
    run, code = ended(tmp_path, "actor", "-f", str(HERE / "locustfiles" / locustfile), *PLAN)
    assert code == 0, run.stderr
    (header,) = of(run.events(), Header)
    assert header.clients == classes
    assert "client" not in header.profile["users"]  # the profile's own setting had no part in it
    markdown = answer("export", "last", "--format", "md", "--sessions-dir", str(run.sessions)).stdout
    assert f"| client | `{client_name}` |" in markdown
    assert f"| locustfile | `{locustfile}` |" in markdown
