"""Real runs of the services of a Compose file, ended in each possible way: `python -m lab.trials.compose`, or `make compose`.

The image is made from one static program, so that no registry is needed. Most rows use the host's network, for which a daemon
without bridge or iptables is enough; one has services with addresses of their own, a published port and a CPU quota.
"""
