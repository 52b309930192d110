"""The target: it is started, waited for until it is ready, and all of its processes are ended."""
