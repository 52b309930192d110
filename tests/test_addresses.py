"""URLs without the user and the password, which may not be shown or saved; addresses of the form HOST:PORT."""

from __future__ import annotations

import pytest

from capexplorer.addresses import host_and_port, is_host_and_port, is_http_url, without_userinfo


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host/x", "http://host/x"),
        ("http://user:word@host:80/x", "http://***@host:80/x"),
        ("http://u:p@ss@host/x", "http://***@host/x"),
        ("http://user:pa/ss@host/x", "http://***@host/x"),
        ("http://user:pa#ss@host/x", "http://***@host/x"),
        ("http://user:p@host//a/b", "http://***@host//a/b"),
        ("http://host/packages/@scope/name", "http://host/packages/@scope/name"),
        ("http://host:8080/mail?to=a@b.c", "http://host:8080/mail?to=a@b.c"),
        ("http://[::1]:8080/@x", "http://[::1]:8080/@x"),
        ("http://user:word@[::1/x", "http://***@[::1/x"),
    ],
)
def test_user_and_password_of_a_url_are_replaced_and_nothing_else(url: str, shown: str) -> None:
    assert without_userinfo(url) == shown


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("box:5557", ("box", 5557)),
        ("[::1]:1", ("::1", 1)),
        ("box", None),
        (":5557", None),
        ("box:0", None),
        ("box:65536", None),
        ("box:²", None),
        ("b\udcffx:1", None),
    ],
)
def test_an_address_is_a_host_and_a_port_between_1_and_65535(text: str, address: tuple[str, int] | None) -> None:
    assert host_and_port(text) == address


@pytest.mark.parametrize("text", ["b\udcffx", "b\nx", "b\x00x"])
def test_bytes_that_are_no_text_are_in_no_address(text: str) -> None:
    assert not is_http_url(f"http://{text}/")
    assert not is_http_url(f"http://box/{text}")
    assert not is_host_and_port(f"{text}:80")
