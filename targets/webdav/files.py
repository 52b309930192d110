"""Each account's folder over WebDAV (wsgidav), with basic authentication; an account has access to its own files only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accounts import Accounts
from wsgidav.dc.base_dc import BaseDomainController
from wsgidav.fs_dav_provider import FilesystemProvider
from wsgidav.wsgidav_app import WsgiDAVApp

SHARE = "/files"
"""Path below /remote.php/dav, as clients of ownCloud expect it."""


def create_files(accounts: Accounts, homes: Path) -> WsgiDAVApp:
    """The WSGI application, to be mounted at /remote.php/dav."""

    class Controller(BaseDomainController):  # type: ignore[misc]
        """wsgidav creates the instance itself, so that `accounts` is passed by closure."""

        def get_domain_realm(self, path_info: str, environ: dict[str, Any]) -> str:
            return "files"

        def require_authentication(self, realm: str, environ: dict[str, Any]) -> bool:
            return True

        def basic_auth_user(self, realm: str, user_name: str, password: str, environ: dict[str, Any]) -> bool:
            owner = environ["PATH_INFO"].removeprefix(SHARE).strip("/").partition("/")[0]
            return owner == user_name and accounts.check(user_name, password)

        def supports_http_digest_auth(self) -> bool:
            return False

    return WsgiDAVApp(
        {
            "provider_mapping": {SHARE: FilesystemProvider(str(homes))},
            "mount_path": "/remote.php/dav",
            "http_authenticator": {
                "domain_controller": Controller,
                "accept_basic": True,
                "accept_digest": False,
                "default_to_digest": False,
            },
            "property_manager": None,
            "lock_storage": True,
            "dir_browser": {"enable": False},
            "logging": {"enable": False},
            "verbose": 1,
        }
    )
