"""Readings once a second: generator, target, machine, ports, TCP, metrics; and watched parts, here or on other machines.

`probes` reads in one native thread of a gevent-patched process, so it and what it imports may not import `socket`, `subprocess`
or `threading`, nor call `time.sleep`: after patching those belong to the hub. Its files are opened before load starts, so that
readings survive EMFILE. `parts_process` is a process of its own, which sends `remote_reader` to the machine of each part. A value
that cannot be read is None, never zero and never a repeated value.
"""

from __future__ import annotations
