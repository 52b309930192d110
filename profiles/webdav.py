"""Users of an ownCloud: each makes an account, reads the manual and writes a small file 3:1, waits a second, and goes again.

Runs against the target `webdav`, or any ownCloud: `capexplorer run webdav --host https://cloud.example --allow-host ...`
with CAPEXPLORER_ADMIN=name:password. Accounts that a crash left over are removed before the first account is made; do not run
two at a time against one service.
"""

import os
import re
import secrets

from gevent.lock import BoundedSemaphore
from locust import HttpUser, constant, task

ADMIN = tuple(os.environ.get("CAPEXPLORER_ADMIN", "admin:admin").split(":", 1))
PREFIX = "capexplorer-"
USERS = "/ocs/v2.php/cloud/users"
OCS = {"OCS-APIRequest": "true"}
NOTE = b"a small file, written over and over again\n" * 24


class Cleaning:
    """Once a service, before its first account."""

    def __init__(self) -> None:
        self.done: set[str] = set()
        self.turn = BoundedSemaphore()

    def __call__(self, user: HttpUser) -> None:
        with self.turn:
            if user.host not in self.done:
                self.done.add(str(user.host))
                listed = user.client.get(f"{USERS}?search={PREFIX}", auth=ADMIN, headers=OCS, name=f"{USERS}?search")
                for name in re.findall(rf"<element>({PREFIX}[\w.-]+)</element>", listed.text):
                    delete(user, name)


def delete(user: HttpUser, name: str) -> None:
    user.client.delete(f"{USERS}/{name}", auth=ADMIN, headers=OCS, name=f"{USERS}/{{user}}")


clean = Cleaning()


class CloudUser(HttpUser):
    wait_time = constant(1)
    account: str | None = None

    def on_start(self) -> None:
        clean(self)
        account, self.password = f"{PREFIX}{secrets.token_hex(6)}", secrets.token_urlsafe(12)
        made = self.client.post(USERS, data={"userid": account, "password": self.password}, auth=ADMIN, headers=OCS)
        made.raise_for_status()
        self.account = account

    def on_stop(self) -> None:
        if self.account is not None:
            delete(self, self.account)

    def _file(self, name: str) -> str:
        return f"/remote.php/dav/files/{self.account}/{name}"

    @task(3)
    def download(self) -> None:
        self.client.get(
            self._file("ownCloud%20Manual.pdf"), auth=(self.account, self.password), name="/files/{user}/ownCloud Manual.pdf"
        )

    @task(1)
    def upload(self) -> None:
        self.client.put(self._file("note.txt"), data=NOTE, auth=(self.account, self.password), name="/files/{user}/note.txt")
