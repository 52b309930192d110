"""The API of the target `webdav`: accounts as in ownCloud, and each account's access to its own files only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .served import served

ADMIN = ("admin", "admin")
USERS = "/ocs/v2.php/cloud/users"
CHEAP = {"manual_mb": 0.01, "hash_rounds": 10}


@pytest.fixture(params=["sqlite", "memory"], scope="module")
def cloud(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served("webdav", tmp_path_factory.mktemp("scratch"), store=request.param, **CHEAP) as client:
        yield client


def create(cloud: httpx.Client, name: str, password: str = "pw") -> httpx.Response:
    return cloud.post(USERS, data={"userid": name, "password": password}, auth=ADMIN)


def file_of(name: str, file: str) -> str:
    return f"/remote.php/dav/files/{name}/{file}"


def test_an_account_is_made_listed_and_removed_by_the_administrator(cloud: httpx.Client) -> None:
    assert "<statuscode>200</statuscode>" in create(cloud, "anna").text
    assert "<element>anna</element>" in cloud.get(f"{USERS}?search=ann", auth=ADMIN).text
    assert "<element>anna</element>" not in cloud.get(f"{USERS}?search=bert", auth=ADMIN).text
    assert cloud.delete(f"{USERS}/anna", auth=ADMIN).status_code == 200
    assert "anna" not in cloud.get(USERS, auth=ADMIN).text
    assert cloud.delete(f"{USERS}/anna", auth=ADMIN).status_code == 404


def test_a_name_is_taken_once(cloud: httpx.Client) -> None:
    before = cloud.get("/metrics").json()["accounts"]
    assert create(cloud, "bert").status_code == 200
    assert cloud.get("/metrics").json()["accounts"] == before + 1
    again = create(cloud, "bert", "other")
    assert (again.status_code, "<statuscode>102</statuscode>" in again.text) == (400, True)
    assert cloud.get(file_of("bert", "ownCloud Manual.pdf"), auth=("bert", "pw")).status_code == 200


@pytest.mark.parametrize("name", ["", "../etc", "a/b", ".hidden", "x" * 65, "admin"])
def test_names_that_are_not_file_names_are_refused(cloud: httpx.Client, name: str) -> None:
    assert create(cloud, name).status_code == 400


@pytest.mark.parametrize("auth", [None, ("admin", "wrong"), ("anna", "pw")])
def test_only_the_administrator_has_access_to_accounts(cloud: httpx.Client, auth: tuple[str, str] | None) -> None:
    assert cloud.get(USERS, auth=auth).status_code == 401


def test_a_new_account_has_the_manual_and_may_write_and_read_back(cloud: httpx.Client) -> None:
    create(cloud, "carl")
    manual = cloud.get(file_of("carl", "ownCloud Manual.pdf"), auth=("carl", "pw"))
    assert (len(manual.content), manual.content[:5]) == (10_000, b"%PDF-")
    assert cloud.put(file_of("carl", "note.txt"), content=b"hello", auth=("carl", "pw")).status_code == 201
    assert cloud.put(file_of("carl", "note.txt"), content=b"again", auth=("carl", "pw")).status_code == 204
    assert cloud.get(file_of("carl", "note.txt"), auth=("carl", "pw")).content == b"again"
    listed = cloud.request("PROPFIND", file_of("carl", ""), headers={"Depth": "1"}, auth=("carl", "pw"))
    assert (listed.status_code, "note.txt" in listed.text) == (207, True)


def test_an_account_cannot_reach_the_files_of_another(cloud: httpx.Client) -> None:
    create(cloud, "dora")
    create(cloud, "emil", "his")
    assert cloud.get(file_of("dora", "ownCloud Manual.pdf")).status_code == 401
    for auth in (("dora", "wrong"), ("emil", "his"), ADMIN):
        assert cloud.get(file_of("dora", "ownCloud Manual.pdf"), auth=auth).status_code == 401
        assert cloud.put(file_of("dora", "note.txt"), content=b"mine", auth=auth).status_code == 401
    assert cloud.get("/remote.php/dav/files/emil/../dora/note.txt", auth=("emil", "his")).status_code == 401


@pytest.mark.parametrize(("store", "stays"), [("sqlite", True), ("memory", False)])
def test_accounts_and_files_survive_a_restart(tmp_path: Path, store: str, stays: bool) -> None:
    with served("webdav", tmp_path, store=store, **CHEAP) as cloud:
        create(cloud, "gerd")
    with served("webdav", tmp_path, store=store, **CHEAP) as cloud:
        read = cloud.get(file_of("gerd", "ownCloud Manual.pdf"), auth=("gerd", "pw"))
        assert (read.status_code == 200) is stays
        assert (tmp_path / "homes" / "gerd").exists() is stays  # the files of a lost account are removed
