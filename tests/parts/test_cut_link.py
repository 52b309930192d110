"""A part on a machine of its own, a network namespace, whose network link goes down and comes back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from programs import needs

from capexplorer.model.watched import PartSpec
from trials.parts import testbed

from .reading import reading

pytestmark = [
    needs("ip", "nsenter", "unshare", "sshd", "ssh", "ssh-keygen"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]


def test_a_part_whose_link_is_cut_has_no_figures_until_the_link_is_back(tmp_path: Path) -> None:
    with testbed.testbed("namespaces", "", tmp_path) as machines:
        watched = PartSpec(name="db", at=machines.hosts_by_part["db"].at, port=testbed.SSH_PORT)
        with reading(watched, before=machines.prefix) as part:
            part.read(lambda each: each.target and each.target.alive and each.host, "its figures")
            part.noticed(lambda each: each.state == "read", "that it is known")

            machines.cut("db")
            part.drained()
            known = len(part.readings)
            cut = part.noticed(lambda each: each.state == "unread", "that the link is cut")
            assert cut.name == "db" and cut.reason
            assert len(part.readings) == known, "a figure from before the cut is shown again"

            subprocess.run([*machines.prefix, "ip", "link", "set", "to-db", "up"], check=True)
            part.until(lambda: len(part.readings) > known and part.parts[-1].state == "read", "that it is read again")
