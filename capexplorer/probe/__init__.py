"""What is read once a second beside the load: generator, target, host, ports, TCP, the target's own metrics.

Runs in one native thread of a gevent-patched process, so nothing here may import `socket`, `subprocess`, `threading`, or call
`time.sleep`: after patching those belong to the hub. Files are opened before load starts, so that readings survive EMFILE.
What cannot be read is None, never zero and never the last value again.
"""
