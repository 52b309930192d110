"""Marks of tests that need an SSH server (lab/kit/servers.py), and clients in the folder of these tests."""

from __future__ import annotations

import os

import pytest
from programs import needs

from lab.kit.servers import Sshd, sshd

__all__ = ("Sshd", "needs_root", "needs_sshd", "sshd")

needs_sshd = needs("sshd", "ssh", "ssh-keygen")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sshd without root gives clients no terminal")
