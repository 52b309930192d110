"""Real runs of the services of a Compose file, ended in each possible way: `python -m trials.compose`, or `make compose`.

The image is made from one static program, so that no registry is needed. Its containers use the host's network: a daemon without
bridge or iptables is enough.
"""
