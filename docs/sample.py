"""Makes a sample of a recorded session: `python docs/sample.py SESSION sessions/sample.jsonl "what it shows"`.

What identifies the machine is removed from the header: the host's name, the path of the Python that ran the target, and the
path of the folder into which the target wrote. The id becomes the sample's name, and the label says what the sample shows. All
lines after the header are copied byte by byte.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import msgspec

from capexplorer.model.events import Header
from capexplorer.session.codec import decode, encode, has_seal, sealed

SCRATCH = re.compile(r"/\S*/\.scratch-[\w-]+")
"""The session's own folder, where the target may write."""


def neutral(header: Header, name: str, label: str) -> Header:
    """The header without what identifies the machine."""
    program, *arguments = header.target.command
    command = (os.path.basename(program), *(SCRATCH.sub("{scratch}", argument) for argument in arguments))
    target = msgspec.structs.replace(header.target, command=command)
    return msgspec.structs.replace(
        header, id=name, label=label, target=target, host=msgspec.structs.replace(header.host, name=None)
    )


def main() -> None:
    """Write the sample. An existing file is not overwritten: FileExistsError."""
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
