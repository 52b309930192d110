"""A part on another machine, which a network namespace stands for, while the network link to it is down."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from programs import needs
from read.parts_process import parts_process

from capexplorer.model.watched import PartSpec
from lab.trials.parts import shop

pytestmark = [
    needs("ip", "nsenter", "unshare", "sshd", "ssh", "ssh-keygen"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]


def test_a_part_has_no_readings_while_its_network_link_is_down(tmp_path: Path) -> None:
    with shop.testbed("namespaces", "", tmp_path) as machines:
        spec = PartSpec(name="db", at=machines.hosts["db"].at, port=shop.SSH_PORT)
        with parts_process(spec, before=machines.prefix) as process:
            process.wait_for_reading(
                lambda each: each.target and each.target.alive and each.host, "a reading with target and host"
            )
            process.wait_for_state(lambda each: each.state == "read", "the state 'read'")

            machines.cut("db")
            process.poll_times(4)  # readings from before the cut arrive
            before_cut = len(process.readings)
            unread = process.wait_for_state(lambda each: each.state == "unread", "the state 'unread'")
            assert unread.name == "db"
            assert unread.reason
            assert len(process.readings) == before_cut, "a reading arrived although the link was down"

            subprocess.run([*machines.prefix, "ip", "link", "set", "to-db", "up"], check=True)
            process.poll_until(
                lambda: len(process.readings) > before_cut and process.states[-1].state == "read",
                "a reading and the state 'read' after the link was up again",
            )
