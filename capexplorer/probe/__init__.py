"""Readings taken once a second: generator, target, host, ports, TCP, the target's own metrics.

Runs in one native thread of a gevent-patched process, so nothing here may import `socket`, `subprocess`, `threading`, or call
`time.sleep`: after patching those belong to the hub. Files are opened before load starts, so that readings survive EMFILE.
A value that cannot be read is None, never zero and never a repeated value.
"""
