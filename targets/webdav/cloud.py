"""The account endpoints of ownCloud (OCS v2) that load tests use: create, list, delete. Each account gets a folder.

https://doc.owncloud.com/server/next/admin_manual/configuration/user/user_provisioning_api.html
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import shutil
from pathlib import Path
from xml.sax.saxutils import escape

from accounts import Accounts
from flask import Flask, Response, jsonify, request

ADMIN, ADMIN_PASSWORD = "admin", "admin"
MANUAL = "ownCloud Manual.pdf"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


def create_cloud(accounts: Accounts, homes: Path, manual: Path) -> Flask:
    """The WSGI application. `homes` has one folder per account, each with a copy of `manual`."""
    app = Flask(__name__)

    @app.before_request
    def admins_only() -> Response | None:
        return None if request.path in ("/status.php", "/metrics") or _is_admin() else _answer(401, 997, "Unauthorised")

    @app.get("/status.php")
    def status() -> Response:
        return jsonify(installed=True, maintenance=False, productname="capexplorer webdav")

    @app.get("/metrics")
    def metrics() -> Response:
        return jsonify(accounts=len(accounts.names()))

    @app.post("/ocs/v2.php/cloud/users")
    def create() -> Response:
        name, password = request.form.get("userid", ""), request.form.get("password", "")
        if not _NAME.fullmatch(name) or not password:
            return _answer(400, 101, "invalid input data")
        if name == ADMIN or not accounts.create(name, password):
            return _answer(400, 102, "User already exists")
        (homes / name).mkdir(exist_ok=True)
        shutil.copyfile(manual, homes / name / MANUAL)
        return _answer(200, 200, "OK")

    @app.get("/ocs/v2.php/cloud/users")
    def names() -> Response:
        wanted = request.args.get("search", "")
        found = "".join(f"<element>{escape(name)}</element>" for name in accounts.names() if wanted in name)
        return _answer(200, 200, "OK", f"<users>{found}</users>")

    @app.delete("/ocs/v2.php/cloud/users/<name>")
    def delete(name: str) -> Response:
        if not _NAME.fullmatch(name) or not accounts.delete(name):
            return _answer(404, 998, "The requested user could not be found")
        shutil.rmtree(homes / name, ignore_errors=True)
        return _answer(200, 200, "OK")

    return app


def _is_admin() -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    try:
        name, _, password = base64.b64decode(given, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    right = hmac.compare_digest(password.encode(), ADMIN_PASSWORD.encode())
    return scheme.lower() == "basic" and name == ADMIN and right


def _answer(http_status: int, code: int, message: str, data: str = "") -> Response:
    meta = f"<status>{'ok' if code == 200 else 'failure'}</status><statuscode>{code}</statuscode><message>{message}</message>"
    body = f'<?xml version="1.0"?>\n<ocs><meta>{meta}</meta><data>{data}</data></ocs>\n'
    return Response(body, status=http_status, content_type="application/xml; charset=utf-8")
