"""Programs other than Python that tests and trials run, each with its Debian package. `.ci/run` installs them."""

from __future__ import annotations

import os
import shutil

PACKAGES = {
    "bash": "bash",
    "chromium": "chromium",
    "fish": "fish",
    "git": "git",
    "go": "golang-go",
    "ip": "iproute2",
    "man": "man-db",
    "nginx": "nginx-light",
    "nsenter": "util-linux",
    "openssl": "openssl",
    "prometheus": "prometheus",
    "rsvg-convert": "librsvg2-bin",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "su": "util-linux",
    "sysctl": "procps",
    "taskset": "util-linux",
    "tc": "iproute2",
    "tmux": "tmux",
    "unshare": "util-linux",
    "zsh": "zsh",
}

ONLY_TRIALS = {
    "docker": "docker.io",
    "gcc": "gcc",
    "haproxy": "haproxy",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "mosquitto": "mosquitto",
    "node": "nodejs",
    "perf": "linux-perf",
    "pgbouncer": "pgbouncer",
    "psql": "postgresql",
    "redis-server": "redis-server",
}
"""CI does not install them: trials need them, and tests that skip without them."""

PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
"""Debian installs servers in folders that only root's PATH has."""


def find(program: str) -> str | None:
    """The program's path; None if it is not installed."""
    return shutil.which(program, path=PATH)


def missing(*programs: str) -> str:
    """One line with those that are not installed and their packages; empty if all are installed."""
    absent = [program for program in programs if find(program) is None]
    if not absent:
        return ""
    packages = dict.fromkeys((PACKAGES | ONLY_TRIALS)[program] for program in absent)
    return f"not installed: {', '.join(absent)} (Debian: apt-get install {' '.join(packages)})"
