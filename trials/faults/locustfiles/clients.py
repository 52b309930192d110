"""The class that a row asks for, and nothing more: a locustfile is the same for all."""

# mypy: ignore-errors

import os

from locust import FastHttpUser, HttpUser

from capexplorer.users import LeanHttpUser

Base = {"fast": FastHttpUser, "requests": HttpUser, "lean": LeanHttpUser}[os.environ["FAULT_CLIENT"]]
