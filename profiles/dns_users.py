"""Users of a DNS server, who ask by UDP for the addresses of names.

`NAMES=a.example,b.example capexplorer run dns --host 127.0.0.1:53`
"""

import os
import random

import dns.message
from locust import between, task
from locust.contrib.dns import DNSUser

WAIT_S = float(os.environ.get("WAIT_S", "0.4"))
NAMES = os.environ.get("NAMES", "example.com").split(",")
KIND = os.environ.get("KIND", "A")


class NameUser(DNSUser):
    wait_time = between(0.5 * WAIT_S, 1.5 * WAIT_S)

    @task
    def look_up(self) -> None:
        host, _, port = (self.host or "").rpartition("//")[2].partition(":")
        question = dns.message.make_query(random.choice(NAMES), KIND)
        self.client.udp(question, host, port=int(port or 53), timeout=5, name=KIND)
