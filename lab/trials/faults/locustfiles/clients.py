"""The base class of users, by the row's client: the locustfiles are the same for all clients."""

# mypy: ignore-errors

import os

from locust import FastHttpUser, HttpUser

from capexplorer.users import LeanHttpUser

Base = {"fast": FastHttpUser, "requests": HttpUser, "lean": LeanHttpUser}[os.environ["FAULT_CLIENT"]]
