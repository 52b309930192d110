"""Programs beside Python that tests and trials run, and the Debian package that brings each. `.ci/run` installs them."""

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
    "rsvg-convert": "librsvg2-bin",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "su": "util-linux",
    "sysctl": "procps",
    "taskset": "util-linux",
    "tmux": "tmux",
    "unshare": "util-linux",
    "zsh": "zsh",
}

ONLY_TRIALS = {
    "docker": "docker.io",
    "haproxy": "haproxy",
    "java": "default-jdk-headless",
    "node": "nodejs",
    "psql": "postgresql",
    "redis-server": "redis-server",
}
"""What no test needs, and CI does not install."""

PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
"""Debian keeps servers where only root's PATH looks."""


def find(program: str) -> str | None:
    """Its path; None where it is not installed."""
    return shutil.which(program, path=PATH)


def missing(*programs: str) -> str:
    """One line that says which of these are not installed and what brings them; empty when all are there."""
    absent = [program for program in programs if find(program) is None]
    if not absent:
        return ""
    packages = dict.fromkeys((PACKAGES | ONLY_TRIALS)[program] for program in absent)
    return f"not installed: {', '.join(absent)} (Debian: apt-get install {' '.join(packages)})"
