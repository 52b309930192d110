"""The client class of the row: a locustfile is the same for all."""

# mypy: ignore-errors

import os

from locust import FastHttpUser, HttpUser

from capexplorer.users import LeanHttpUser

Base = {"fast": FastHttpUser, "requests": HttpUser, "lean": LeanHttpUser}[os.environ["FAULT_CLIENT"]]
