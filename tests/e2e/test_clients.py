"""A session says which client classes its users were built on, whoever wrote them: a profile or a locustfile."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Header

from .rig import HERE, capexplorer, ended, of

pytestmark = pytest.mark.slow

PLAN = ("--headless", "--plan", "2:4s")


@pytest.mark.parametrize(
    ("locustfile", "classes", "client_name"),
    [
        ("requests_only.py", ("HttpUser",), "requests (HttpUser)"),
        ("raw_user.py", ("FastHttpUser", "User"), "fast (FastHttpUser) + other (User)"),
        ("full.py", ("FastHttpUser", "HttpUser"), "fast (FastHttpUser) + requests (HttpUser)"),
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
    markdown = capexplorer("export", "last", "--format", "md", "--sessions-dir", str(run.sessions)).stdout
    assert f"| client | `{client_name}` |" in markdown
    assert f"| locustfile | `{locustfile}` |" in markdown


def test_the_client_of_a_profile_is_its_setting(tmp_path: Path) -> None:
    run, code = ended(tmp_path, "actor", *PLAN)
    assert code == 0, run.stderr
    (header,) = of(run.events(), Header)
    assert header.clients == ("FastHttpUser",)
    assert header.profile["users"]["client"] == "fast"
