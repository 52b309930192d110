"""The class that a row asks for, and nothing more: a locustfile is the same for both."""

# mypy: ignore-errors

import os

from locust import FastHttpUser, HttpUser

Base = {"fast": FastHttpUser, "requests": HttpUser}[os.environ["FAULT_CLIENT"]]
