"""Makes a sample of a recorded session: `python docs/sample.py SESSION sessions/sample.jsonl "what it shows"`.

What identifies the machine is removed from the header: the host's name, and the path of the Python that ran the
target, and of the folder where that wrote. The id becomes the sample's name, and the label what
it shows. Every line after the header is copied byte by byte.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import msgspec

from capexplorer.model.events import Header
from capexplorer.session.codec import decode, encode
from capexplorer.session.seal import has_seal, sealed

SCRATCH = re.compile(r"/\S*/\.scratch-\d+")
"""The session's own folder, where the target may write."""


def neutral(header: Header, name: str, label: str) -> Header:
    """Without what is this machine's."""
    program, *arguments = header.target.command
    command = (os.path.basename(program), *(SCRATCH.sub("{scratch}", argument) for argument in arguments))
    target = msgspec.structs.replace(header.target, command=command)
    return msgspec.structs.replace(
        header, id=name, label=label, target=target, host=msgspec.structs.replace(header.host, name=None)
    )


def main() -> None:
    """The sample is a new file: one that exists is not overwritten."""
    session, sample = Path(sys.argv[1]), Path(sys.argv[2])
    first, rest = session.read_bytes().split(b"\n", 1)
    header = decode(first)
    if not isinstance(header, Header):
        raise SystemExit(f"{session}: not a session log")
    changed = encode(neutral(header, sample.stem, sys.argv[3]))
    with sample.open("xb") as file:
        file.write((sealed(changed, 1) if has_seal(first) else changed) + b"\n" + rest)


if __name__ == "__main__":
    main()
