"""Real runs of the services of a Compose file, ended in every way: `python -m trials.compose`, or `make compose`.

The image is made from one static program, so that no registry is asked. Its containers use the host's network: a daemon without
bridge or iptables is enough.
"""
